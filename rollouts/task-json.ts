import { create, type JsonObject, type JsonValue, toJson } from "@bufbuild/protobuf";
import { ItemSchema, TypedBytesSchema } from "../gen/index.js";
import { userMessage } from "../servers/runtime/items.js";

/**
 * A task as people write it, in the contract's JSON. Beside what that allows:
 *
 * - `task_id` may be a text: the id;
 * - `input` may be a text: what the user says;
 * - `public_json` may be any JSON, instead of its text;
 * - `privileged_json` is any JSON, in the place of `privileged` with its bytes in base64.
 *
 * Throws where `privileged_json` stands beside `privileged`.
 */
export function wholeTask(written: JsonValue): JsonValue {
  if (typeof written !== "object" || written === null || Array.isArray(written)) return written;
  const task: JsonObject = { ...written };
  replace(task, ["task_id", "taskId"], (id) => (typeof id === "string" ? { id } : id));
  replace(task, ["input"], (input) =>
    typeof input === "string" ? [toJson(ItemSchema, userMessage(input))] : input,
  );
  replace(task, ["public_json", "publicJson"], (value) =>
    typeof value === "string" ? value : JSON.stringify(value),
  );
  for (const key of ["privileged_json", "privilegedJson"]) {
    const value = task[key];
    if (value === undefined) continue;
    if (task["privileged"] !== undefined) throw new Error(`expected privileged or ${key}, found both`);
    delete task[key];
    task["privileged"] = toJson(TypedBytesSchema, privileged(value));
  }
  return task;
}

function privileged(value: JsonValue) {
  const data = new TextEncoder().encode(JSON.stringify(value));
  return create(TypedBytesSchema, { data, mediaType: "application/json" });
}

/** Replaces a field where it stands, under any of its names. */
function replace(task: JsonObject, names: readonly string[], by: (value: JsonValue) => JsonValue): void {
  for (const name of names) {
    const value = task[name];
    if (value !== undefined && value !== null) task[name] = by(value);
  }
}
