import { Command } from "commander";
import { explainCommand } from "./conformance/explain.js";
import { initCommand } from "./conformance/init.js";
import { lintCommand } from "./conformance/lint.js";
import { listCommand } from "./conformance/list.js";
import { matrixCommand } from "./conformance/matrix.js";
import { reportCommand } from "./conformance/report.js";
import { runCommand } from "./conformance/run.js";
import { verifyCommand } from "./conformance/verify.js";

/** `touchstone conformance ...` */
export function conformanceCommand(): Command {
  return new Command("conformance")
    .description("Certify a server, in any language: does it keep the contract?")
    .addCommand(initCommand())
    .addCommand(runCommand())
    .addCommand(listCommand())
    .addCommand(explainCommand())
    .addCommand(reportCommand())
    .addCommand(verifyCommand())
    .addCommand(matrixCommand())
    .addCommand(lintCommand());
}
