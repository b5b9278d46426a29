import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import Database from "libsql";
import { expect, it } from "vitest";
import { temporaryFolder } from "../test/temporary-folder.js";
import {
  failuresOf,
  metricsOf,
  rolloutsOf,
  root,
  tasksOf,
  touchstone,
  worldConfig,
} from "./fixtures/touchstone.js";

const page = readFileSync(join(root, "docs/results.md"), "utf8");

/** Names in the first column of the table that follows a mark. */
function documented(mark: string): string[] {
  const [, table = ""] = page.split(mark);
  const rows = (table.split("<!-- end -->")[0] ?? "").split("\n").filter((line) => line.startsWith("| `"));
  return rows.flatMap((row) =>
    [...(row.split("|")[1] ?? "").matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name),
  );
}

it("docs/results.md names every file, field and column that a run writes, and no other", async () => {
  const folder = temporaryFolder({
    "c.yaml": worldConfig("  attempts: 1"),
    "tasks.jsonl": tasksOf({ does: "score" }, { does: "fail", failure: { retry: 3 } }),
  });
  const out = join(folder, "out");
  expect((await touchstone(["run", join(folder, "c.yaml"), "--out", out])).code).toBe(1);
  expect(documented("| File |").slice(0, 5).sort()).toEqual(readdirSync(out).sort());

  const [rollout] = rolloutsOf(out);
  expect(documented("<!-- fields rollout -->")).toEqual(Object.keys(rollout ?? {}));
  const ofVerdicts = new Set(["reward", "success", "masked"]);
  const shared = documented("<!-- fields rollout -->").filter((name) => !ofVerdicts.has(name));
  const [failure] = failuresOf(out);
  expect([...shared, ...documented("<!-- fields failure -->")].sort()).toEqual(
    Object.keys(failure ?? {}).sort(),
  );

  const ofBenchmarks = new Set(["benchmark", "metric", "score"]);
  const metrics = documented("<!-- fields metrics -->").filter((name) => !ofBenchmarks.has(name));
  expect(metrics).toEqual(Object.keys(metricsOf(out)));

  const index = new Database(join(out, "index.sqlite"), { readonly: true });
  const columns = index.prepare("SELECT name FROM pragma_table_info('episode')").all() as { name: string }[];
  expect(documented("<!-- fields episode -->")).toEqual(columns.map(({ name }) => name));
  const facts = index.prepare("SELECT fact FROM run").all() as { fact: string }[];
  for (const { fact } of facts) expect(page).toContain(`\`${fact}\``);
  index.close();
}, 60_000);
