import type { z } from "zod";
import type { Task } from "../../gen/index.js";
import { pathText } from "../runtime/problem.js";
import { invalidField, type Refusal } from "../runtime/refusal.js";
import { problemsOf } from "../runtime/schema-problems.js";

/** What is wrong with a task, thrown by whatever reads one; Seed is then refused with the field's path (ENV-SEED-004). */
export class BadTask extends Error {
  constructor(
    /** Path below the task: `public_json.operands[0]`, `row.answer`. */
    readonly path: string,
    /** What was expected and what was found; never the privileged value itself. */
    readonly problem: string,
  ) {
    super(`${path}: ${problem}`);
    this.name = "BadTask";
  }

  /** The refusal of a Seed with this task. */
  refusal(): Refusal {
    return invalidField(`task.${this.path}`, this.problem);
  }
}

/** A task as its environment reads it. */
export interface TaskSource {
  readonly task: Task;
  /** Task.public_json read by a schema. Throws BadTask. */
  publicJson<T>(schema: z.ZodType<T>): T;
  /** Task.privileged, being JSON, read by a schema. Throws BadTask. */
  privilegedJson<T>(schema: z.ZodType<T>): T;
  /** The row of a published data set, where the task is one. */
  readonly row: { readonly schema: string; readonly data: Uint8Array } | undefined;
}

function readJson<T>(text: string, schema: z.ZodType<T>, field: string): T {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new BadTask(field, `expected JSON, found ${text === "" ? "nothing" : "text that is none"}`);
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const problems = problemsOf(parsed.error, schema, []);
  // A key that is misspelt is why another one is missing.
  const problem = problems.find(({ text: said }) => said.startsWith("unknown key")) ?? problems[0];
  if (problem === undefined) throw new BadTask(field, "does not fit its schema");
  throw new BadTask(pathText([field, ...problem.path]), problem.text);
}

/** Reads a task. */
export function taskSource(task: Task): TaskSource {
  return {
    task,
    publicJson: (schema) => readJson(task.publicJson, schema, "public_json"),
    privilegedJson: (schema) =>
      readJson(new TextDecoder().decode(task.privileged?.data ?? new Uint8Array()), schema, "privileged"),
    row: task.row === undefined ? undefined : { schema: task.row.rowSchema, data: task.row.data },
  };
}
