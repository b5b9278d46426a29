import { join } from "node:path";
import { Command, InvalidArgumentError } from "commander";
import { type RunReport, run } from "../rollouts/run.js";
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
  if (!Number.isInteger(number) || number < 1)
    throw new InvalidArgumentError("expected a whole number of 1 or more");
  return number;
}

function collect(value: string, before: string[] = []): string[] {
  return [...before, value];
}

/** `touchstone run CONFIG [--tasks FILE] [--agent NAME] [--repeats N] [--concurrency N] --out DIR` */
export function runCommand(): Command {
  return new Command("run")
    .description("Run the episodes of a configuration and store every verdict.")
    .argument("<config>", "configuration file (YAML)")
    .option("--tasks <file>", "task file (JSONL) in the place of the configuration's")
    .option(
      "--agent <name>",
      "agent server in the place of the configuration's; given several times, one run each",
      collect,
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
      using interrupt = onInterrupt();
      const config = await loadConfig(file);
      const reports: RunReport[] = [];
      const agents = flags.agent ?? [undefined];
      for (const agent of agents) {
        if (interrupt.signal.aborted) break;
        const bar = progressBar(agent ?? "episodes");
        try {
          reports.push(
            await run({
              config,
              changes: {
                ...(flags.tasks === undefined ? {} : { tasks: flags.tasks }),
                ...(agent === undefined ? {} : { agent }),
                ...(flags.repeats === undefined ? {} : { repeats: flags.repeats }),
                ...(flags.concurrency === undefined ? {} : { concurrency: flags.concurrency }),
              },
              out: agents.length === 1 || agent === undefined ? flags.out : join(flags.out, agent),
              resume: flags.resume ?? false,
              log: createLogger(flags.log),
              signal: interrupt.signal,
              onProgress: bar.update,
            }),
          );
        } finally {
          bar.stop();
        }
      }
      process.stdout.write(`${reportTable(reports)}\n`);
      process.exitCode = exitCodeOf(reports, agents.length);
    });
}

function exitCodeOf(reports: readonly RunReport[], asked: number): number {
  if (reports.length < asked || reports.some(({ stopped }) => stopped !== undefined))
    return exitCodes.stopped;
  const whole = reports.every(({ metrics: { coverage } }) => coverage.failed === 0 && coverage.missing === 0);
  return whole ? exitCodes.ok : exitCodes.failed;
}
