#!/usr/bin/env node
import { Command } from "commander";
import { ConfigError } from "../servers/composition/config-error.js";
import { packageVersion } from "../servers/runtime/version.js";
import { describeCommand } from "./describe.js";
import { exitCodes } from "./exit-codes.js";
import { runCommand } from "./run.js";
import { serveCommand } from "./serve.js";

const program = new Command("touchstone")
  .description(
    "Environments, agents, models and sandboxes over one contract: serve them, run episodes, look at them.",
  )
  .version(packageVersion)
  .showHelpAfterError("(--help tells more)")
  .exitOverride((error) => {
    // Commander ends --help and --version with 0, and misuse with 1, which here means failed episodes.
    process.exit(error.exitCode === 0 ? exitCodes.ok : exitCodes.badInput);
  });
for (const command of [serveCommand(), runCommand(), describeCommand()]) {
  program.addCommand(command.copyInheritedSettings(program));
}

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof ConfigError) {
    for (const problem of error.problems) process.stderr.write(`${problem}\n`);
    process.exitCode = exitCodes.badInput;
  } else {
    // A defect: whatever was to be done did not come to its end.
    console.error(error);
    process.exitCode = exitCodes.stopped;
  }
}
