import {
  type DescField,
  type DescMessage,
  fromJson,
  type JsonObject,
  type JsonValue,
} from "@bufbuild/protobuf";
import { TaskSchema } from "../gen/index.js";
import { foundText } from "../servers/runtime/found-text.js";
import { nearest } from "../servers/runtime/nearest.js";

/** How fields of a task may be written beside the contract's JSON, in the words of their errors. */
const alsoWritten: Readonly<Record<string, string>> = {
  task_id: "the id as text, or an object with taskset and id",
  input: "text, or a list of items",
  privileged: "an object with data in base64; JSON is written as privileged_json",
};

/** Keys of a task that stand for a field of another name. */
const furtherKeys = ["privileged_json"];

/**
 * What is wrong with a task as it was written, by the path of the field in the words of its author; undefined where nothing
 * is found. Asked for only once it could not be read: it reads field by field.
 */
export function faultOfTask(written: JsonValue): string | undefined {
  return faultOf(TaskSchema, written, "");
}

function faultOf(desc: DescMessage, written: JsonValue, path: string): string | undefined {
  if (!isObject(written))
    return `${at(path)}expected ${alsoWritten[path] ?? "an object"}, found ${foundText(written)}`;
  for (const [key, value] of Object.entries(written)) {
    const field = desc.fields.find(({ name, jsonName }) => name === key || jsonName === key);
    const here = path === "" ? key : `${path}.${key}`;
    if (field === undefined) {
      const names = desc.fields.map(({ name }) => name);
      return `${at(path)}unknown key "${key}"${nearest(key, path === "" ? [...names, ...furtherKeys] : names)}`;
    }
    const fault = value === null ? undefined : faultOfField(desc, field, { key, value, path: here });
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function faultOfField(
  desc: DescMessage,
  field: DescField,
  { key, value, path }: { readonly key: string; readonly value: JsonValue; readonly path: string },
): string | undefined {
  const { message } = field;
  if (message !== undefined && !message.typeName.startsWith("google.protobuf.")) {
    if (field.fieldKind === "message") return faultOf(message, value, path);
    const parts =
      field.fieldKind === "list" ? listed(value) : isObject(value) ? Object.entries(value) : undefined;
    if (parts === undefined) {
      const expected = alsoWritten[path] ?? (field.fieldKind === "list" ? "a list" : "an object");
      return `${path}: expected ${expected}, found ${foundText(value)}`;
    }
    for (const [name, part] of parts) {
      const fault = faultOf(
        message,
        part,
        field.fieldKind === "list" ? `${path}[${name}]` : `${path}.${name}`,
      );
      if (fault !== undefined) return fault;
    }
    return undefined;
  }
  try {
    fromJson(desc, { [key]: value });
    return undefined;
  } catch (error) {
    return `${path}: expected ${expectedBy(field, error)}, found ${foundText(value)}`;
  }
}

/** What a field takes: of durations an example, of the rest the library's own words. */
function expectedBy({ message }: DescField, error: unknown): string {
  if (message?.name === "Duration") return 'seconds as text, such as "30s"';
  const [, expected = "another value"] = /from JSON: expected (.*?)(?:, got .*)?$/.exec(String(error)) ?? [];
  return expected;
}

function listed(value: JsonValue): [string, JsonValue][] | undefined {
  return Array.isArray(value) ? value.map((part, i) => [String(i), part]) : undefined;
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function at(path: string): string {
  return path === "" ? "" : `${path}: `;
}
