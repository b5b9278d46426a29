import { closeSync, existsSync, fdatasync, ftruncateSync, openSync, readFileSync, writeSync } from "node:fs";
import { promisify } from "node:util";

const sync = promisify(fdatasync);

/**
 * An append-only file of JSON lines. Lines are written whole and at once, so that the death of this process loses
 * none that was acknowledged; a line that a dying machine tore is cut off when the file is opened (field-case-093).
 */
export class JsonlFile {
  readonly #fd: number;
  #dirty = false;

  /** Opens the file, making it where it is missing. */
  constructor(readonly path: string) {
    this.#fd = openSync(path, "a+");
    const bytes = readFileSync(path);
    const whole = bytes.lastIndexOf(0x0a) + 1;
    if (whole < bytes.length) ftruncateSync(this.#fd, whole);
  }

  /** Appends one record. */
  append(record: unknown): void {
    const line = Buffer.from(`${JSON.stringify(record)}\n`);
    let written = 0;
    while (written < line.length) written += writeSync(this.#fd, line, written);
    this.#dirty = true;
  }

  /** Makes what was written safe against the death of the machine. */
  async sync(): Promise<void> {
    if (!this.#dirty) return;
    this.#dirty = false;
    await sync(this.#fd);
  }

  close(): void {
    closeSync(this.#fd);
  }
}

/** The records of a file of JSON lines; none where it is missing. A torn last line is left out. */
export function readJsonl<T>(path: string): T[] {
  if (!existsSync(path)) return [];
  const text = readFileSync(path, "utf8");
  return text
    .slice(0, text.lastIndexOf("\n") + 1)
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as T);
}
