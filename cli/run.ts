import { Command, InvalidArgumentError } from "commander";
import { run } from "../rollouts/run.js";
import type { RunReport } from "../rollouts/run-variant.js";
import { loadConfig } from "../servers/composition/load-config.js";
import { createLogger, type LogLevel } from "../servers/runtime/log.js";
import { exitCodes } from "./exit-codes.js";
import { onInterrupt } from "./interrupt.js";
import { logOption } from "./log-option.js";
import { progressBar } from "./progress-bar.js";
import { reportTable } from "./report-table.js";

interface RunFlags {
  readonly tasks?: string;
  readonly agent?: string[];
  readonly repeats?: number;
  readonly concurrency?: number;
  readonly out: string;
  readonly resume?: boolean;
  readonly log: LogLevel;
}

function count(value: string): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number) || number < 1)
    throw new InvalidArgumentError("expected a whole number of 1 or more");
  return number;
}

function several(value: string, before: string[] = []): string[] {
  return [...before, value];
}

/** `touchstone run CONFIG [--tasks FILE] [--agent NAME] [--repeats N] [--concurrency N] [--resume] --out DIR` */
export function runCommand(): Command {
  return new Command("run")
    .description("Run the episodes of a configuration and store every verdict.")
    .argument("<config>", "configuration file (YAML)")
    .option("--tasks <file>", "task file (JSONL) in the place of the configuration's")
    .option(
      "--agent <name>",
      "agent server in the place of the configuration's; given several times, one run each",
      several,
    )
    .option("--repeats <n>", "episodes of each task", count)
    .option("--concurrency <n>", "episodes at once", count)
    .requiredOption("--out <dir>", "folder of the run's files")
    .option("--resume", "go on with the run that the folder holds")
    .addOption(logOption())
    .addHelpText(
      "after",
      "\nExit codes: 0 every episode has a verdict, 1 some failed, 2 bad input, 3 stopped before the end.",
    )
    .action(async (file: string, flags: RunFlags) => {
      using interrupt = onInterrupt({
        stopping: "stopping: what runs may end within run.drain_timeout; again to give it up",
        abandoning: "giving up what runs; again to leave without clean-up",
      });
      const config = await loadConfig(file);
      const { tasks, agent: agents, repeats, concurrency, out, resume = false, log } = flags;
      let reports: RunReport[];
      {
        using bar = progressBar();
        reports = await run({
          config,
          changes: { tasks, agents, repeats, concurrency },
          out,
          resume,
          log: createLogger(log),
          stop: interrupt.stop,
          abandon: interrupt.abandon,
          onProgress: bar.update,
        });
      }
      if (reports.length > 0) process.stdout.write(`${reportTable(reports)}\n`);
      process.exitCode = exitCodeOf(reports, interrupt.stop.aborted);
    });
}

function exitCodeOf(reports: readonly RunReport[], interrupted: boolean): number {
  const whole = reports.every(
    ({ metrics }) => metrics.coverage.unfinished + metrics.coverage.not_begun === 0,
  );
  // Asked to stop when all was done: then there was nothing to stop.
  if (reports.some(({ stopped }) => stopped !== undefined) || (interrupted && !whole))
    return exitCodes.stopped;
  return whole && reports.every(({ metrics }) => metrics.coverage.failed === 0)
    ? exitCodes.ok
    : exitCodes.failed;
}
