import { Command } from "commander";
import { loadConfig } from "../servers/composition/load-config.js";
import { createLogger, type LogLevel } from "../servers/runtime/log.js";
import { exitCodes } from "./exit-codes.js";
import { logOption } from "./log-option.js";

interface CheckFlags {
  readonly run?: boolean;
  readonly json?: boolean;
  readonly log: LogLevel;
}

/** `touchstone check CONFIG [--run] [--json]` */
export function checkCommand(): Command {
  return new Command("check")
    .description(
      "Tell which of a configuration's environments, agents, models and drivers can work together, its runs first, and what is unmet where they cannot. No episode is run.",
    )
    .argument("<config>", "configuration file (YAML)")
    .option("--run", "only what the configuration's run, or each of its runs, names")
    .option("--json", "tell it as JSON")
    .addOption(logOption())
    .addHelpText("after", "\nExit codes: 0 all work, 1 some cannot, 2 bad configuration.")
    .action(async (file: string, { run: onlyRun = false, json = false, log }: CheckFlags) => {
      const config = await loadConfig(file);
      // What servers need takes a while to load; help and refusals need not wait for it.
      const { judgePairs } = await import("../rollouts/judge-pairs.js");
      const { pairsTable } = await import("./pairs-table.js");
      const pairs = await judgePairs({ config, onlyRun, log: createLogger(log) });
      const text = json ? JSON.stringify({ pairs: pairs.map(withVerdict) }, null, 2) : pairsTable(pairs);
      process.stdout.write(`${text}\n`);
      process.exitCode = pairs.every(({ unmet }) => unmet.length === 0) ? exitCodes.ok : exitCodes.failed;
    });
}

function withVerdict<P extends { readonly unmet: readonly unknown[] }>(pair: P) {
  return { ...pair, works: pair.unmet.length === 0 };
}
