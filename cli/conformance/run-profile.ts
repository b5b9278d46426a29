import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import pc from "picocolors";
import { type Catalogue, readCatalogue } from "../../conformance/catalogue/catalogue.js";
import type { Profile } from "../../conformance/catalogue/profile.js";
import {
  type ConformanceFile,
  checkConformanceFile,
  FixtureError,
  readConformanceFile,
} from "../../conformance/fixture/conformance-file.js";
import { htmlReport } from "../../conformance/report/html.js";
import { junitReport } from "../../conformance/report/junit.js";
import { markdownReport } from "../../conformance/report/markdown.js";
import { terminalReport } from "../../conformance/report/terminal.js";
import { chosen } from "../../conformance/runner/pattern.js";
import type { RunResult } from "../../conformance/runner/result.js";
import {
  type ConformanceOptions,
  planConformance,
  runConformance,
} from "../../conformance/runner/run-conformance.js";
import { runnableProfiles, suiteOf } from "../../conformance/runner/suites.js";
import { type ProcessSubject, StartError, startSubject } from "../../conformance/subject/process-subject.js";
import { ConfigError } from "../../servers/composition/config-error.js";
import { checkProgress } from "./check-progress.js";
import { conformanceExitCodes } from "./exit-codes.js";
import { type TargetFlags, targetOf } from "./target.js";

/** Options of `conformance run`. */
export interface RunFlags extends TargetFlags {
  readonly target?: string;
  readonly exec?: string;
  readonly config: string;
  readonly json?: string;
  readonly html?: string;
  readonly junit?: string;
  readonly markdown?: string;
  readonly seed?: string;
  readonly timeScale?: number;
  readonly serial?: boolean;
  readonly slow?: boolean;
  readonly allowDestructive?: boolean;
  readonly smoke: boolean;
  readonly dryRun?: boolean;
  readonly requirePass?: readonly string[];
}

/** Runs a profile as the command line says, writes its reports, and gives the exit code. Throws ConfigError. */
export async function runProfile(
  name: string,
  patterns: readonly string[],
  flags: RunFlags,
): Promise<number> {
  const profile = profileOf(name);
  if (!suiteOf(profile).checks.some((check) => chosen(patterns, check))) {
    throw new ConfigError([
      `no check of ${profile} fits ${patterns.join(" ")}; \`touchstone conformance list\` lists all`,
    ]);
  }
  if ((flags.target === undefined) === (flags.exec === undefined)) {
    throw new ConfigError(["expected one of --target URL and --exec COMMAND"]);
  }
  const file = fileOf(flags);
  let started: ProcessSubject | undefined;
  // What a subject calls is there before it starts.
  await using played = await suiteOf(profile).play?.(file);
  try {
    started =
      flags.exec === undefined ? undefined : await startSubject(flags.exec, { env: played?.env ?? {} });
    const url = started?.url ?? flags.target ?? "";
    const options: ConformanceOptions = {
      profile,
      target: targetOf(url, flags, file.headers),
      file,
      patterns,
      played,
      smoke: flags.smoke,
      serial: flags.serial ?? false,
      slow: flags.slow ?? false,
      // What the runner started is nobody else's.
      allowDestructive: flags.allowDestructive ?? started !== undefined,
      ...(flags.exec === undefined ? {} : { exec: flags.exec }),
      ...(flags.seed === undefined ? {} : { seed: flags.seed }),
    };
    if (flags.dryRun === true) return await tellPlan(options);
    using progress = checkProgress();
    const run = await runConformance({ ...options, onCheck: progress.update });
    const result = requirePassed(run, flags.requirePass ?? []);
    progress[Symbol.dispose]();
    const catalogue = readCatalogue();
    write(result, flags, catalogue);
    const how = flags.exec === undefined ? `--target ${url}` : `--exec ${JSON.stringify(flags.exec)}`;
    const command = `touchstone conformance run ${profile} ${how} --config ${flags.config}`;
    const report = terminalReport(result, { catalogue, paint: pc, rerun: { command } });
    process.stdout.write(`${report}\n`);
    return exitCodeOf(result);
  } catch (error) {
    if (error instanceof StartError) {
      process.stderr.write(`${error.message}\n`);
      return conformanceExitCodes.incomplete;
    }
    throw error;
  } finally {
    await started?.[Symbol.asyncDispose]();
  }
}

async function tellPlan(options: ConformanceOptions): Promise<number> {
  const planned = await planConformance(options);
  if (planned.blocked !== undefined) {
    process.stderr.write(
      `blocked by ${planned.blocked.blocked?.cause}: ${planned.blocked.blocked?.reason}\n`,
    );
    return conformanceExitCodes.incomplete;
  }
  for (const { check, stacks, skip } of planned.checks) {
    const what = skip === undefined ? `runs on ${stacks.join(" and ")}` : `${skip.verdict}: ${skip.reason}`;
    process.stdout.write(`${check.padEnd(48)} ${what}\n`);
  }
  return conformanceExitCodes.conformant;
}

/** Makes a run incomplete unless these clauses or checks passed: what keeps a filtered run honest. */
function requirePassed(result: RunResult, ids: readonly string[]): RunResult {
  const missed = ids.filter(
    (id) =>
      !result.checks.some(
        ({ check, clause, verdict }) => verdict === "pass" && (check === id || clause === id),
      ),
  );
  if (missed.length === 0 || result.verdict !== "conformant") return result;
  const reason = `--require-pass: ${missed.join(", ")} did not pass`;
  return { ...result, verdict: "incomplete", blocked: { cause: "subject", reason } };
}

function profileOf(name: string): Profile {
  const found = runnableProfiles.find((profile) => profile === name);
  if (found === undefined) {
    throw new ConfigError([`expected a profile (${runnableProfiles.join(", ")}), found ${name}`]);
  }
  return found;
}

function fileOf(flags: RunFlags): ConformanceFile {
  try {
    // Without a file the runner itself says which part of it is missing.
    const file = existsSync(flags.config) ? readConformanceFile(flags.config) : checkConformanceFile({});
    return flags.timeScale === undefined ? file : { ...file, time_scale: flags.timeScale };
  } catch (error) {
    if (error instanceof FixtureError) throw new ConfigError(error.message.split("\n"));
    throw error;
  }
}

/** Writes the reports that were asked for. */
function write(result: RunResult, flags: RunFlags, catalogue: Catalogue): void {
  const reports: [string | undefined, () => string][] = [
    [flags.json, () => `${JSON.stringify(result, null, 2)}\n`],
    [flags.html, () => htmlReport(result, catalogue)],
    [flags.junit, () => junitReport(result)],
    [flags.markdown, () => markdownReport(result, catalogue)],
  ];
  for (const [path, make] of reports) {
    if (path === undefined) continue;
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, make());
  }
}

function exitCodeOf(result: RunResult): number {
  if (result.counts["harness-error"] > 0) return conformanceExitCodes.harnessError;
  switch (result.verdict) {
    case "conformant":
      return conformanceExitCodes.conformant;
    case "not-conformant":
      return conformanceExitCodes.notConformant;
    case "incomplete":
      return conformanceExitCodes.incomplete;
  }
}
