import { Command } from "commander";

/** `touchstone conformance list` */
export function listCommand(): Command {
  return new Command("list")
    .description("List the clauses of the contract, and the checks that judge them.")
    .argument("[patterns...]", "clause or check ids, * for anything")
    .option("--profile <name>", "only of this profile")
    .option("--json", "as JSON")
    .action(async (patterns: string[], options: { profile?: string; json?: boolean }) => {
      const { listClauses } = await import("./list-clauses.js");
      const clauses = listClauses(patterns, options.profile);
      if (options.json === true) {
        process.stdout.write(`${JSON.stringify(clauses, null, 2)}\n`);
        return;
      }
      for (const { id, level, checks, sentence } of clauses) {
        process.stdout.write(
          `${id.padEnd(16)} ${level.padEnd(6)} ${String(checks.length).padStart(3)}  ${sentence}\n`,
        );
      }
    });
}
