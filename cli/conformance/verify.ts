import { Command } from "commander";

/** `touchstone conformance verify FILE` */
export function verifyCommand(): Command {
  return new Command("verify")
    .description("Judge a certificate offline: is it whole, unchanged, and by a set that holds?")
    .argument("<file>", "what `conformance report --format certificate` wrote")
    .action(async (path: string) => {
      const { verifyFile } = await import("./verify-file.js");
      const { text, valid } = verifyFile(path);
      process.stdout.write(text);
      process.exitCode = valid ? 0 : 1;
    });
}
