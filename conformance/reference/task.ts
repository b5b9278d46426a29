import { z } from "zod";
import { BadTask, type TaskSource } from "../../servers/index.js";
import { troubleSchema } from "./trouble.js";

/** Task.public_json: docs/reference-world.md, "Task". */
export const publicSchema = z.strictObject({
  target: z.int().min(1).default(5),
  start: z.int().min(0).max(9).default(0),
  tools: z.array(z.string().min(1)).min(1).optional(),
  stages: z.int().min(1).max(9).default(1),
  together: z.boolean().default(false),
  trouble: troubleSchema.optional(),
  release: z.enum(["fails-once"]).optional(),
});

/** Task.privileged. */
export const privilegedSchema = z.strictObject({ answer: z.string().min(1) });

/** Schema of the rows that are tasks too. */
export const rowSchemaName = "touchstone-reference-row";

const rowSchema = z.strictObject({
  target: z.int().min(1).default(5),
  answer: z.string().min(1),
});

/** A task as the world reads it. */
export interface ReferenceTask extends z.output<typeof publicSchema>, z.output<typeof privilegedSchema> {
  /** The task says itself what its agents are told first. */
  readonly told: boolean;
}

/** Reads a task: whole, or out of a row. Throws BadTask. */
export function readTask(source: TaskSource): ReferenceTask {
  const told = source.task.input.length > 0;
  const open = source.task.publicJson === "" ? publicSchema.parse({}) : source.publicJson(publicSchema);
  if (source.row === undefined) return { ...open, ...source.privilegedJson(privilegedSchema), told };
  return { ...open, ...readRow(source.row.data), told };
}

function readRow(data: Uint8Array): z.output<typeof rowSchema> {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(data));
  } catch {
    throw new BadTask("row.data", "expected JSON text in UTF-8, found something else");
  }
  const read = rowSchema.safeParse(value);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  const path = (issue?.path ?? []).map((part) => `.${String(part)}`).join("");
  throw new BadTask(`row.data${path}`, issue?.message ?? "does not fit its schema");
}
