import { Command, Option } from "commander";

/** `touchstone conformance report FILE` */
export function reportCommand(): Command {
  return new Command("report")
    .description("Make a report of a result document, on stdout.")
    .argument("<file>", "what `conformance run --json` wrote")
    .addOption(
      new Option("--format <name>", "what to make")
        .choices(["terminal", "html", "junit", "markdown", "badge", "certificate"])
        .default("terminal"),
    )
    .action(async (path: string, { format }: { format: string }) => {
      const { makeReport } = await import("./make-report.js");
      process.stdout.write(makeReport(path, format));
    });
}
