import { FailureKind, Retry, type Task } from "../../../gen/index.js";
import { OperationFailure } from "../../runtime/failure.js";
import { isInstance } from "../../runtime/is-instance.js";
import { Refusal } from "../../runtime/refusal.js";
import type { EnvironmentDefinition } from "../define-environment.js";
import { readTask } from "./read-task.js";

/** A task as its author read it, or what reading it threw. */
export type TaskReading<Data> = { readonly data: Data } | { readonly error: unknown };

/**
 * Reads before anything begins, so that a malformed task is refused (ENV-SEED-003, ENV-SEED-004); what an author's bug
 * throws waits for the operation itself, whose recorded failure it is (R9).
 */
export function tryReading<Data, State>(
  definition: EnvironmentDefinition<Data, State>,
  task: Task,
): TaskReading<Data> {
  try {
    return { data: readTask(definition, task) };
  } catch (error) {
    if (isInstance(error, Refusal)) throw error;
    return { error };
  }
}

/** The task's data. Throws the operation's own failure where the author's `read` broke. */
export function dataOf<Data>(reading: TaskReading<Data>): Data {
  if ("data" in reading) return reading.data;
  if (isInstance(reading.error, OperationFailure)) throw reading.error;
  const reason = "the environment could not read the task; the server's log has the error";
  throw new OperationFailure(
    { kind: FailureKind.SEED_FAILED, retry: Retry.NEVER, reason },
    { cause: reading.error },
  );
}
