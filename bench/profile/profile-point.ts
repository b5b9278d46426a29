import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ownJobs } from "../plan.js";
import { type MeasureOptions, measure } from "../run/measure.js";
import type { Command, Target } from "../run/target.js";
import { readCpuProfile } from "./cpu-profile.js";
import { profileText } from "./profile-text.js";

/** How a point is profiled. */
export interface ProfileOptions extends MeasureOptions {
  readonly side: "server" | "client";
  readonly sessions: number;
}

/**
 * Runs a point once with Node's sampling profiler in one of its processes, and tells what dominates there
 * behind the warm-up.
 *
 * @throws Error - The point is unknown, has no such process, or failed.
 */
export async function profilePoint(name: string, options: ProfileOptions): Promise<string> {
  const job = ownJobs().find(({ target }) => target.name === name);
  if (job === undefined) throw new Error(`there is no point "${name}"; see --only for their names`);
  const folder = mkdtempSync(join(tmpdir(), "bench-profile-"));
  try {
    const { mode } = job;
    const target = profiled(job.target, options.side, folder);
    let from = 0;
    const rates = await measure(
      { target, mode, sessions: options.sessions },
      { ...options, onReady: () => (from = monotonicMicroseconds() + options.warmSeconds * 1e6) },
    );
    const to = from + options.seconds * 1e6;
    const [file] = readdirSync(folder);
    if (file === undefined)
      throw new Error("expected a profile, found none: the process did not end by itself");
    const text = profileText(readCpuProfile(readFileSync(join(folder, file), "utf8"), { from, to }));
    return `${name}, ${options.side} with ${options.sessions} sessions: ${JSON.stringify(rates)}\n${text}`;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function profiled(target: Target, side: ProfileOptions["side"], folder: string): Target {
  const watched = (command: Command): Command => ({
    ...command,
    args: ["--cpu-prof", `--cpu-prof-dir=${folder}`, "--cpu-prof-interval=250", ...command.args],
  });
  if (side === "client") return { ...target, load: watched(target.load) };
  if (target.server === undefined) {
    throw new Error(`"${target.name}" has no server process: profile its client`);
  }
  return { ...target, server: watched(target.server) };
}

/** The clock that V8 writes into profiles; all processes of a machine share it. */
function monotonicMicroseconds(): number {
  return Number(process.hrtime.bigint() / 1000n);
}
