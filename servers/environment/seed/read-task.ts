import type { Task } from "../../../gen/index.js";
import { isInstance } from "../../runtime/is-instance.js";
import { invalidField, Refusal } from "../../runtime/refusal.js";
import type { EnvironmentDefinition } from "../define-environment.js";
import { BadTask, taskSource } from "../task-source.js";

/**
 * Reads a task. Throws the refusal of one that is for another environment or malformed (ENV-SEED-003, ENV-SEED-004),
 * and whatever else the author's `read` throws.
 */
export function readTask<Data, State>(definition: EnvironmentDefinition<Data, State>, task: Task): Data {
  checkTask(definition, task);
  try {
    return definition.read(taskSource(task));
  } catch (error) {
    throw isInstance(error, BadTask) ? error.refusal() : error;
  }
}

function checkTask<Data, State>(definition: EnvironmentDefinition<Data, State>, task: Task): void {
  // ENV-SEED-003
  if (task.environment !== definition.name) {
    const description = `the task is for environment "${task.environment}"; this is "${definition.name}"`;
    throw new Refusal("WRONG_ENVIRONMENT", description, {
      violations: [{ field: "task.environment", description }],
    });
  }
  const known = definition.rowSchemas ?? [];
  if (task.row !== undefined && !known.includes(task.row.rowSchema)) {
    throw invalidField(
      "task.row.row_schema",
      `"${task.row.rowSchema}" is not read here; known: ${known.length === 0 ? "none" : known.join(", ")}`,
    );
  }
}
