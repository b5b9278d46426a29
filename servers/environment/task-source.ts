import type { z } from "zod";
import type { Task } from "../../gen/index.js";
import { invalidField, type Refusal } from "../runtime/refusal.js";

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

/** The path below a field as people write it: `operands[0].value`. */
function pathText(path: readonly PropertyKey[]): string {
  return path.map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`)).join("");
}

function readJson<T>(text: string, schema: z.ZodType<T>, field: string): T {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new BadTask(
      field,
      text === "" ? "expected JSON text, found nothing" : "expected JSON text, found something else",
    );
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new BadTask(`${field}${pathText(issue?.path ?? [])}`, issue?.message ?? "does not fit its schema");
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
