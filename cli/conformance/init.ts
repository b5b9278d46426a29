import { Command } from "commander";
import type { InitFlags } from "./init-file.js";

/** `touchstone conformance init` */
export function initCommand(): Command {
  return new Command("init")
    .description("Write a conformance.yaml for an environment server, from what it says of itself.")
    .requiredOption("--target <url>", "the running server")
    .option("--task <file>", "a task as ProtoJSON, where the server gives no samples")
    .option("--out <file>", "where to write", "conformance.yaml")
    .option(
      "--header <name:value>",
      "metadata of every call",
      (value: string, all: string[]) => [...all, value],
      [],
    )
    .option("--ca <file>", "PEM file of certificates to trust")
    .option("--force", "replace a file that is there")
    .action(async (flags: InitFlags) => {
      const { initFile } = await import("./init-file.js");
      process.exitCode = await initFile(flags);
    });
}
