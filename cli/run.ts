import { Command, InvalidArgumentError } from "commander";
import type { StopBounds } from "../rollouts/run-options.js";
import type { RunReport } from "../rollouts/run-report.js";
import { loadConfig } from "../servers/composition/load-config.js";
import { createLogger, type LogLevel } from "../servers/runtime/log.js";
import { exitCodes } from "./exit-codes.js";
import { faultLines } from "./fault-lines.js";
import { onInterrupt } from "./interrupt.js";
import { logOption } from "./log-option.js";
import { progressBar } from "./progress-bar.js";
import { watchStuck } from "./stuck-watch.js";

interface RunFlags {
  readonly tasks?: string;
  readonly agent?: string[];
  readonly repeats?: number;
  readonly concurrency?: number;
  readonly out: string;
  readonly resume?: boolean;
  readonly steps?: boolean;
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

/** `touchstone run CONFIG [--tasks FILE] [--agent NAME] [--repeats N] [--concurrency N] [--resume] [--steps] --out DIR` */
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
    .option(
      "--resume",
      "go on with the run that the folder holds: whatever has neither a verdict nor a failure for good",
    )
    .option("--steps", "tell each step and its rewards as it is taken; JSON lines where that is no terminal")
    .addOption(logOption())
    .addHelpText(
      "after",
      "\nExit codes: 0 every episode has a verdict, 1 some failed, 2 bad input, 3 stopped before the end.",
    )
    .action(async (file: string, flags: RunFlags) => {
      let bounds: StopBounds | undefined;
      using interrupt = onInterrupt({
        stopping: () => stoppingWords(bounds),
        abandoning: () => abandoningWords(bounds),
      });
      const config = await loadConfig(file);
      const { tasks, agent: agents, repeats, concurrency, out, resume = false, steps = false, log } = flags;
      // What a run needs takes a while to load; help and refusals need not wait for it.
      const { run } = await import("../rollouts/run.js");
      const { reportTable } = await import("./report-table.js");
      const { stepLine } = await import("./step-line.js");
      let reports: RunReport[];
      {
        using bar = progressBar();
        using faults = faultLines(bar.line);
        using _stuck = watchStuck();
        reports = await run({
          config,
          changes: { tasks, agents, repeats, concurrency },
          out,
          resume,
          log: createLogger(log, faults.tell),
          stop: interrupt.stop,
          abandon: interrupt.abandon,
          onBegin: (_name, begun) => {
            bounds = begun;
          },
          onProgress: bar.update,
          onNote: bar.line,
          onStep: steps ? (name, step) => bar.line(stepLine(name, step, process.stderr.isTTY)) : undefined,
        });
      }
      if (reports.length > 0) process.stdout.write(`${reportTable(reports)}\n`);
      process.exitCode = exitCodeOf(reports, new Set(agents ?? [""]).size * Math.max(1, config.runs.size));
    });
}

/** What the first signal does, with the times that hold. */
function stoppingWords(bounds: StopBounds | undefined): string {
  if (bounds === undefined) return "stopping: no episode has begun";
  const { drainMs, cleanUpMs } = bounds;
  return `stopping: what runs may end within ${inSeconds(drainMs)} (run.drain_timeout), then it is given up and has ${inSeconds(cleanUpMs)} to clean up; again to give it up now`;
}

function abandoningWords(bounds: StopBounds | undefined): string {
  const time = bounds === undefined ? "" : `: it has ${inSeconds(bounds.cleanUpMs)} to clean up`;
  return `giving up what runs${time}; again to leave without clean-up`;
}

function inSeconds(ms: number): string {
  return `${ms / 1000} s`;
}

function exitCodeOf(reports: readonly RunReport[], asked: number): number {
  if (reports.length < asked || reports.some(({ stopped }) => stopped !== undefined))
    return exitCodes.stopped;
  const whole = reports.every(
    ({ metrics: { coverage } }) => coverage.failed + coverage.unfinished + coverage.not_begun === 0,
  );
  return whole ? exitCodes.ok : exitCodes.failed;
}
