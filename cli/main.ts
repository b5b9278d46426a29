#!/usr/bin/env node
import { Command } from "commander";
import { ConfigError } from "../servers/composition/config-error.js";
import { packageVersion } from "../servers/runtime/version.js";
import { callCommand } from "./call.js";
import { checkCommand } from "./check.js";
import { conformanceCommand } from "./conformance.js";
import { describeCommand } from "./describe.js";
import { exitCodes } from "./exit-codes.js";
import { runCommand } from "./run.js";
import { serveCommand } from "./serve.js";

/** The command has come to its own end. */
let done = false;

const program = new Command("touchstone")
  .description(
    "Environments, agents, models and sandboxes over one contract: serve them, run episodes, look at them.",
  )
  .version(packageVersion)
  .showHelpAfterError("(--help tells more)")
  .exitOverride((error) => {
    // Commander ends --help and --version with 0, and misuse with 1, which here means failed episodes.
    done = true;
    process.exit(error.exitCode === 0 ? exitCodes.ok : exitCodes.badInput);
  });
for (const command of [
  serveCommand(),
  runCommand(),
  checkCommand(),
  describeCommand(),
  callCommand(),
  conformanceCommand(),
]) {
  program.addCommand(command.copyInheritedSettings(program));
}

// A user's module lives in this process: what it throws on the side must not decide what the command says of itself.
process.on("unhandledRejection", (reason) =>
  console.error("a promise was rejected and nobody listened:", reason),
);
process.on("uncaughtException", (error) => {
  console.error("an error that nobody caught ends the command:", error);
  process.exit(exitCodes.stopped);
});
process.on("exit", (code) => {
  if (!done && code === exitCodes.ok) process.exitCode = exitCodes.stopped;
});

/** Ends the process once what was said has left it: a module of the user may keep something running for ever. */
async function end(code: number): Promise<never> {
  const left = (stream: NodeJS.WriteStream): Promise<void> =>
    new Promise((resolve) => {
      stream.write("", () => resolve());
    });
  await Promise.all([left(process.stdout), left(process.stderr)]);
  process.exit(code);
}

// Whoever read the output, such as `head`, has left: there is nobody to tell more.
process.stdout.on("error", () => process.exit(exitCodes.stopped));

try {
  await program.parseAsync();
  done = true;
  await end(Number(process.exitCode ?? exitCodes.ok));
} catch (error) {
  if (error instanceof ConfigError) {
    for (const problem of error.problems) process.stderr.write(`${problem}\n`);
    await end(exitCodes.badInput);
  }
  // A defect: whatever was to be done did not come to its end.
  console.error(error);
  await end(exitCodes.stopped);
}
