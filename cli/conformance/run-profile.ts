import { existsSync, readFileSync, writeFileSync } from "node:fs";
import pc from "picocolors";
import { readCatalogue } from "../../conformance/catalogue/catalogue.js";
import type { Profile } from "../../conformance/catalogue/profile.js";
import {
  type ConformanceFile,
  checkConformanceFile,
  FixtureError,
  readConformanceFile,
} from "../../conformance/fixture/conformance-file.js";
import { terminalReport } from "../../conformance/report/terminal.js";
import { chosen } from "../../conformance/runner/pattern.js";
import type { RunResult } from "../../conformance/runner/result.js";
import { runConformance } from "../../conformance/runner/run-conformance.js";
import { runnableProfiles, suiteOf } from "../../conformance/runner/suites.js";
import type { Target } from "../../conformance/subject/connection.js";
import { type ProcessSubject, StartError, startSubject } from "../../conformance/subject/process-subject.js";
import { ConfigError } from "../../servers/composition/config-error.js";
import { conformanceExitCodes } from "./exit-codes.js";

/** Options of `conformance run`. */
export interface RunFlags {
  readonly target?: string;
  readonly exec?: string;
  readonly config: string;
  readonly header: readonly string[];
  readonly ca?: string;
  readonly clientCert?: string;
  readonly clientKey?: string;
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
  try {
    started = flags.exec === undefined ? undefined : await startSubject(flags.exec);
    const url = started?.url ?? flags.target ?? "";
    const result = await runConformance({
      profile,
      target: targetOf(url, flags, file),
      file,
      patterns,
      smoke: flags.smoke,
      serial: flags.serial ?? false,
      slow: flags.slow ?? false,
      // What the runner started is nobody else's.
      allowDestructive: flags.allowDestructive ?? started !== undefined,
      ...(flags.exec === undefined ? {} : { exec: flags.exec }),
      ...(flags.seed === undefined ? {} : { seed: flags.seed }),
    });
    write(result, flags);
    const how = flags.exec === undefined ? `--target ${url}` : `--exec ${JSON.stringify(flags.exec)}`;
    const command = `touchstone conformance run ${profile} ${how} --config ${flags.config}`;
    const report = terminalReport(result, { catalogue: readCatalogue(), paint: pc, rerun: { command } });
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

function targetOf(url: string, flags: RunFlags, file: ConformanceFile): Target {
  const whole = /^[^/]+:\d+$/.test(url) ? `http://${url}` : url;
  const given = flags.header.map((header) => {
    const [name = "", ...value] = header.split(":");
    if (name.trim() === "" || value.length === 0) {
      throw new ConfigError([`--header: expected name:value, found a text without a colon`]);
    }
    return [name.trim().toLowerCase(), value.join(":").trim()] as const;
  });
  const pem = (path: string | undefined): Buffer | undefined =>
    path === undefined ? undefined : readFileSync(path);
  const [ca, cert, key] = [pem(flags.ca), pem(flags.clientCert), pem(flags.clientKey)];
  return {
    url: whole,
    headers: { ...file.headers, ...Object.fromEntries(given) },
    tls: {
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
    },
  };
}

function write(result: RunResult, flags: RunFlags): void {
  if (flags.json !== undefined) writeFileSync(flags.json, `${JSON.stringify(result, null, 2)}\n`);
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
