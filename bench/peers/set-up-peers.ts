import { spawn } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import type { Skipped } from "../report/document.js";
import type { Job } from "../run/target.js";
import { peerJobs } from "./peer-folder.js";

/** Other systems' stacks that can be measured here. */
export interface Peers {
  readonly jobs: readonly Job[];
  /** Those that cannot, and why. */
  readonly skipped: readonly Skipped[];
}

/** Names of the peers in a folder. */
export function peerNames(folder: string): readonly string[] {
  return readdirSync(folder)
    .filter((name) => existsSync(join(folder, name, "peer.json")))
    .sort();
}

/**
 * Has the folder's own run.py make the peers' environments (minutes, the first time), and reads what can be measured.
 * What cannot be set up is skipped, with its reason.
 *
 * @param names - Which peers.
 */
export async function setUpPeers(folder: string, names: readonly string[]): Promise<Peers> {
  const work = resolve(process.env["PEERS_WORK"] ?? join(homedir(), ".cache", "peers"));
  const failed = new Map<string, string>();
  const jobs: Job[] = [];
  for (const name of names) {
    const reason = await setUp(folder, name, work);
    if (reason === undefined) jobs.push(...peerJobs(join(work, name)));
    else failed.set(name, reason);
  }
  return { jobs, skipped: [...failed].map(([name, reason]) => ({ name, reason })) };
}

/** Sets one peer up. Answers why it cannot be. */
async function setUp(folder: string, name: string, work: string): Promise<string | undefined> {
  const program = spawn("python3", [join(resolve(folder), "run.py"), "--setup-only", name], {
    env: { ...process.env, PEERS_WORK: work },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  program.stderr.on("data", (chunk: Buffer) => {
    said = (said + chunk.toString("utf8")).slice(-300);
  });
  let reason: string | undefined;
  createInterface({ input: program.stdout }).on("line", (line) => {
    if (line.startsWith("{")) reason = errorOf(line) ?? reason;
  });
  const code = await new Promise<number | string>((done) => {
    program.on("error", (error) => done(error.message));
    program.on("close", (exit, signal) => done(exit ?? signal ?? "nothing"));
  });
  return reason ?? (code === 0 ? undefined : `run.py --setup-only ended with ${code}: ${said.trim()}`);
}

function errorOf(line: string): string | undefined {
  const message: unknown = JSON.parse(line);
  const found =
    typeof message === "object" && message !== null && "error" in message ? message.error : undefined;
  return found === undefined ? undefined : String(found);
}
