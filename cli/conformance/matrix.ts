import { Command } from "commander";

/** `touchstone conformance matrix FILE...` */
export function matrixCommand(): Command {
  return new Command("matrix")
    .description("Lay several result documents out as a table: implementations by profiles.")
    .argument("<files...>", "what `conformance run --json` wrote")
    .action(async (paths: string[]) => {
      const [{ matrix }, { readResult }] = await Promise.all([
        import("../../conformance/report/matrix.js"),
        import("./read-result.js"),
      ]);
      process.stdout.write(matrix(paths.map(readResult)));
    });
}
