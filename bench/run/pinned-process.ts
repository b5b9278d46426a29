import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import type { Command } from "./target.js";

/** Characters of standard error that an error tells. */
const errorCharacters = 400;
const endMs = 5_000;

/** A program on one core that is told things line by line, and tells in lines of JSON. */
export class PinnedProcess implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  readonly #ended: Promise<unknown>;
  #errors = "";

  /** @param core - Undefined: any. */
  constructor({ program, args, cwd, env }: Command, core: number | undefined) {
    const [file, prefix] = core === undefined ? [program, []] : ["taskset", ["-c", String(core), program]];
    this.#child = spawn(file, [...prefix, ...args], {
      ...(cwd === undefined ? {} : { cwd }),
      env: { ...process.env, ...env },
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.#ended = once(this.#child, "close").catch((error: unknown) => {
      this.#errors += String(error);
    });
    this.#child.stdin?.on("error", () => {});
    this.#child.stderr?.on("data", (chunk: Buffer) => {
      this.#errors = (this.#errors + chunk.toString("utf8")).slice(-10 * errorCharacters);
    });
    const output = this.#child.stdout;
    if (output === null) throw new Error("expected a pipe from standard output, found none");
    this.#lines = createInterface({ input: output })[Symbol.asyncIterator]();
  }

  /** @throws Error - It was never started. */
  get pid(): number {
    if (this.#child.pid === undefined) throw new Error(`could not be started: ${this.#errors}`);
    return this.#child.pid;
  }

  /**
   * The next line that is a JSON object; other lines are passed over.
   *
   * @throws Error - The program ended without one, or gave none in time.
   */
  async next(timeoutMs: number): Promise<Record<string, unknown>> {
    const late = new AbortController();
    const timeout = pause(timeoutMs, undefined, { signal: late.signal }).then(() => {
      throw new Error(`gave no line within ${timeoutMs} ms${this.#said()}`);
    });
    timeout.catch(() => {});
    try {
      for (;;) {
        const line = await Promise.race([this.#lines.next(), timeout]);
        if (line.done === true) {
          await this.#ended;
          throw new Error(`ended with ${this.#child.exitCode ?? this.#child.signalCode}${this.#said()}`);
        }
        const found = objectOf(line.value);
        if (found !== undefined) return found;
      }
    } finally {
      late.abort();
    }
  }

  tell(line: string): void {
    this.#child.stdin?.write(`${line}\n`);
  }

  /** Ends the program: its input first, then by SIGTERM, then by SIGKILL. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.stdin?.end();
    if (await this.#endsWithin(endMs / 10)) return;
    this.#child.kill("SIGTERM");
    if (await this.#endsWithin(endMs)) return;
    this.#child.kill("SIGKILL");
    await this.#ended;
  }

  async #endsWithin(ms: number): Promise<boolean> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return true;
    const late = new AbortController();
    const ended = await Promise.race([
      this.#ended.then(() => true),
      pause(ms, false, { signal: late.signal }).catch(() => false),
    ]);
    late.abort();
    return ended;
  }

  #said(): string {
    const text = this.#errors.trim();
    return text === "" ? "" : `: ${text.slice(-errorCharacters)}`;
  }
}

function objectOf(line: string): Record<string, unknown> | undefined {
  if (!line.includes("{")) return undefined;
  try {
    const value: unknown = JSON.parse(line.slice(line.indexOf("{")));
    return typeof value === "object" && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
