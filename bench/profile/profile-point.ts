import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ownJobs } from "../plan.js";
import { type MeasureOptions, measure } from "../run/measure.js";
import type { Held, Rates } from "../run/measurement.js";
import type { Command, Target } from "../run/target.js";
import { type CpuProfile, readCpuProfile } from "./cpu-profile.js";

/** What is profiled. */
export interface Profiled {
  /** Name of a point of this folder. */
  readonly point: string;
  /** The process that is watched. */
  readonly side: "server" | "client";
  readonly sessions: number;
}

/** A profile of a point, and what the profiler let it do meanwhile. */
export interface PointProfile extends Profiled {
  readonly rates: Rates | Held;
  readonly profile: CpuProfile;
}

/**
 * Runs a point once with Node's sampling profiler in one of its processes, and reads what it did there behind the
 * warm-up.
 *
 * @throws Error - The point is unknown, has no such process, or failed.
 */
export async function profilePoint(asked: Profiled, options: MeasureOptions): Promise<PointProfile> {
  const { point: name, side, sessions } = asked;
  const job = ownJobs().find(({ target }) => target.name === name);
  if (job === undefined) throw new Error(`there is no point "${name}"; see --only for their names`);
  const folder = mkdtempSync(join(tmpdir(), "bench-profile-"));
  try {
    const { mode } = job;
    const target = profiled(job.target, side, folder);
    let from = 0;
    const rates = await measure(
      { target, mode, sessions },
      { ...options, onReady: () => (from = monotonicMicroseconds() + options.warmSeconds * 1e6) },
    );
    const to = from + options.seconds * 1e6;
    const [file] = readdirSync(folder);
    if (file === undefined)
      throw new Error("expected a profile, found none: the process did not end by itself");
    const profile = readCpuProfile(readFileSync(join(folder, file), "utf8"), { from, to });
    return { ...asked, rates, profile };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function profiled(target: Target, side: Profiled["side"], folder: string): Target {
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
