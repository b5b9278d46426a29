// Writes the tables of docs/contract.md from the comments of the proto files, after a lint of the clauses.
// With --check it writes nothing and fails where the page is not what the proto files give.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readClauses, readDescriptorSet } from "../conformance/catalogue/contract-clauses.js";
import { fillContract } from "./contract-tables.js";
import { featureNames, lintClauses, readRemovedClauses } from "./lint-clauses.js";

const page = join(import.meta.dirname, "..", "docs", "contract.md");

const set = readDescriptorSet();
const { clauses, problems: unread } = readClauses(set);
const unsound = lintClauses(clauses, { removed: readRemovedClauses(), features: featureNames(set) });
const before = readFileSync(page, "utf8");
const { text, problems: unplaced } = fillContract(before, { clauses, set });

const problems = [...unread, ...unsound, ...unplaced];
if (problems.length === 0 && text !== before) {
  if (process.argv.includes("--check")) {
    problems.push("docs/contract.md is stale: run scripts/contract-docs.ts and commit what changes.");
  } else {
    writeFileSync(page, text);
  }
}
if (problems.length > 0) {
  console.error(problems.join("\n"));
  process.exitCode = 1;
} else {
  console.log(`${clauses.length} clauses, each once and in docs/contract.md`);
}
