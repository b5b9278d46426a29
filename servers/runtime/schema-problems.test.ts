import { expect, it } from "vitest";
import type { z } from "zod";
import { runSchema } from "../composition/run-schema.js";
import { nearest } from "./nearest.js";
import { problemText } from "./problem.js";
import { problemsOf } from "./schema-problems.js";

function problems(schema: z.ZodType, value: unknown): string[] {
  const parsed = schema.safeParse(value);
  return parsed.success ? [] : problemsOf(parsed.error, schema, ["run"]).map(problemText);
}

const run = { driver: "d", environment: "e", agents: { agent: "a" }, tasks: { file: "t.jsonl" } };

it("names the nearest key inside a branch of a union", () => {
  expect(problems(runSchema, { ...run, tasks: { file: "t", row_shema: "gsm8k" } })).toEqual([
    'run.tasks.row_shema: unknown key; did you mean "row_schema"?',
  ]);
});

it("names the nearest key inside a list", () => {
  expect(problems(runSchema, { ...run, tasks: [{ file: "t" }, { file: "u", tasket: "x" }] })).toEqual([
    'run.tasks[1].tasket: unknown key; did you mean "taskset"?',
  ]);
});

it("names the nearest key below defaults and optional parts", () => {
  expect(problems(runSchema, { ...run, budget: { max_turn: 3 } })).toEqual([
    'run.budget.max_turn: unknown key; did you mean "max_turns"?',
  ]);
});

it("says what was expected and what was found", () => {
  expect(problems(runSchema, { ...run, concurrency: "16", repeats: 0, driver: undefined })).toEqual([
    "run.driver: expected string, found nothing",
    "run.repeats: Too small: expected number to be >=1",
    "run.concurrency: expected number, found string",
  ]);
});

it("judges the keys of a map", () => {
  expect(problems(runSchema, { ...run, agents: { "no id": "a" } })).toEqual([
    'run.agents.no id: expected an agent_id: letters, digits, ".", "_", "-"',
  ]);
});

it("lists what is known where nothing is near", () => {
  expect(nearest("zzzzzzzz", ["file", "split"])).toBe("; known: file, split");
  expect(nearest("flie", ["file", "split"])).toBe('; did you mean "file"?');
  expect(nearest("min", ["timing", "minimum", "maximum"])).toBe('; did you mean "minimum"?');
  expect(nearest("x", [])).toBe("");
});
