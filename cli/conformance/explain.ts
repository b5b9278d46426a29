import { Command } from "commander";

/** `touchstone conformance explain ID` */
export function explainCommand(): Command {
  return new Command("explain")
    .description("Tell a clause, what its checks do, and what they need.")
    .argument("<id>", "clause or check id")
    .action(async (id: string) => {
      const { listClauses } = await import("./list-clauses.js");
      for (const clause of listClauses([id])) {
        const lines = [
          `${clause.id} ${clause.level} (${clause.applies.join(", ")}; ${clause.profiles.join(", ")})`,
          `  ${clause.sentence}`,
          `  docs/contract.md#${clause.id.toLowerCase()}`,
          ...(clause.observable ? [] : [`  not observable over the wire: ${clause.unobservable}`]),
          `  needs: ${typeof clause.input === "string" ? clause.input : JSON.stringify(clause.input)}`,
          ...clause.checks.map((check) => `  ${check.profile} ${check.id}\n    ${check.title}`),
          ...(clause.mutants.length === 0 ? [] : [`  mutants: ${clause.mutants.join(", ")}`]),
        ];
        process.stdout.write(`${lines.join("\n")}\n`);
      }
    });
}
