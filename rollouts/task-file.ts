import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { create, fromJson, type JsonValue } from "@bufbuild/protobuf";
import { type Task, TaskSchema } from "../gen/index.js";
import { ConfigError } from "../servers/composition/config-error.js";
import { validate } from "../servers/runtime/validate.js";
import { badTasks, type TaskProblem } from "./bad-tasks.js";
import { oneLine } from "./error-text.js";
import { wholeTask } from "./task-json.js";
import type { PlacedTask } from "./task-set.js";
import type { TaskSource } from "./task-source.js";
import { faultOfTask } from "./written-task.js";

type FileSource = Extract<TaskSource, { readonly from: "file" }>;

/** What a file of tasks holds. */
export interface TaskFile {
  readonly tasks: readonly PlacedTask[];
  /** Digest of the file's bytes: `sha256:<hex>`. */
  readonly digest: string;
}

/**
 * Reads a JSONL file of tasks. A byte order mark, CRLF, blank lines and a missing last newline are accepted
 * (field-case-104). Every bad line is told with its number and none is skipped. Rows are not read here: only the
 * environment does that. Throws ConfigError.
 */
export async function readTaskFile(source: FileSource): Promise<TaskFile> {
  let bytes: Buffer;
  try {
    bytes = await readFile(source.file);
  } catch (error) {
    const why = error instanceof Error && "code" in error ? ` (${String(error.code)})` : "";
    throw new ConfigError([`${source.shown}: cannot be read${why}; give the path of a JSONL file of tasks`]);
  }
  const problems: TaskProblem[] = [];
  const tasks: PlacedTask[] = [];
  for (const { bytes: line, number } of linesOf(bytes)) {
    const place = `${source.shown}:${number}`;
    try {
      const text = decode(line);
      if (text.trim() === "") continue;
      const task = source.rowSchema === undefined ? readTask(text) : rowTask(text, number, source);
      tasks.push({ task: named(task, source), place });
    } catch (error) {
      problems.push({ place, text: oneLine(error) });
    }
  }
  if (problems.length > 0) throw badTasks(problems);
  if (tasks.length === 0) throw new ConfigError([`${source.shown}: expected tasks, found none`]);
  return { tasks, digest: `sha256:${createHash("sha256").update(bytes).digest("hex")}` };
}

const newline = 0x0a;
const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);

function* linesOf(bytes: Buffer): Generator<{ bytes: Buffer; number: number }> {
  let number = 1;
  let start = bytes.subarray(0, 3).equals(byteOrderMark) ? byteOrderMark.length : 0;
  while (start < bytes.length) {
    const at = bytes.indexOf(newline, start);
    const end = at < 0 ? bytes.length : at;
    yield { bytes: bytes.subarray(start, end), number };
    start = end + 1;
    number += 1;
  }
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function decode(line: Buffer): string {
  try {
    return utf8.decode(line).replace(/\r$/, "");
  } catch {
    throw new Error("expected UTF-8 text, found bytes that are none");
  }
}

/** Reads JSON. The parser's own words quote the line, which may hold a solution; only their column is told. */
function parseJson(line: string): JsonValue {
  try {
    return JSON.parse(line) as JsonValue;
  } catch (error) {
    const [, position] = /at position (\d+)/.exec(String(error)) ?? [];
    const column = position === undefined ? "" : ` at column ${Number(position) + 1}`;
    throw new Error(`expected one JSON value, found text that is no JSON${column}`);
  }
}

/** A published row, unparsed but for being JSON; it is named by its line, so that equal rows stay apart (field-case-110). */
function rowTask(line: string, number: number, { rowSchema = "", taskset }: FileSource): Task {
  const value = parseJson(line);
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Error("expected a JSON object, found another JSON value");
  }
  return create(TaskSchema, {
    taskId: { taskset: taskset ?? rowSchema, id: String(number) },
    row: { data: new TextEncoder().encode(line), mediaType: "application/json", rowSchema },
  });
}

/** Stands for the environment while the other fields are judged: a task may leave it to the run. */
const anyEnvironment = "any";

function readTask(line: string): Task {
  const whole = wholeTask(parseJson(line));
  const task = fromTaskJson(whole);
  const { environment } = task;
  task.environment = environment === "" ? anyEnvironment : environment;
  validate(TaskSchema, task);
  task.environment = environment;
  return task;
}

/** The library's own words name types of Protobuf; an author is told the field as it was written. */
function fromTaskJson(whole: JsonValue): Task {
  try {
    return fromJson(TaskSchema, whole);
  } catch (error) {
    throw new Error(faultOfTask(whole) ?? oneLine(error));
  }
}

function named(task: Task, { taskset, split }: FileSource): Task {
  if (taskset !== undefined && task.taskId?.taskset === "") task.taskId.taskset = taskset;
  if (split !== undefined) task.split = split;
  return task;
}
