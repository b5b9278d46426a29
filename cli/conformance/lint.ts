import { Command } from "commander";

/** `touchstone conformance lint` */
export function lintCommand(): Command {
  return new Command("lint")
    .description(
      "Look for clauses that nothing judges, checks of no clause, refusals that nobody wrote down.",
    )
    .action(async () => {
      const { lintProblems } = await import("./lint-problems.js");
      const problems = lintProblems();
      for (const problem of problems) process.stderr.write(`${problem}\n`);
      process.stdout.write(
        problems.length === 0 ? "the catalogue is sound\n" : `${problems.length} problems\n`,
      );
      process.exitCode = problems.length === 0 ? 0 : 1;
    });
}
