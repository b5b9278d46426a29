import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { create, fromJson, type JsonValue } from "@bufbuild/protobuf";
import { type Task, TaskSchema } from "../gen/index.js";
import { ConfigError } from "../servers/composition/config-error.js";
import { validate } from "../servers/runtime/validate.js";

/** A task with the place that it was read from, for messages. */
export interface PlacedTask {
  readonly task: Task;
  /** `test.jsonl:7`. */
  readonly place: string;
}

/** A task set, read from a file. */
export interface TaskSet {
  readonly tasks: readonly PlacedTask[];
  /** Digest of the file's bytes: `sha256:<hex>`. */
  readonly digest: string;
}

/** How a file of tasks is read. */
export interface TaskFile {
  readonly file: string;
  /** Name of the file in messages. */
  readonly shown: string;
  /** Schema of published rows; absent: each line is a task in the contract's JSON. */
  readonly rowSchema: string | undefined;
  /** Task set that rows belong to; absent: the row schema's name. */
  readonly taskset: string | undefined;
  /** The environment that rows are for. */
  readonly environment: string;
}

/**
 * Reads a JSONL file of tasks. A byte order mark, CRLF, blank lines and a missing last newline are accepted
 * (field-case-104); every bad line is told with its number. Rows are not read here: only the environment does that.
 */
export async function readTaskFile(source: TaskFile): Promise<TaskSet> {
  let bytes: Buffer;
  try {
    bytes = await readFile(source.file);
  } catch {
    throw new ConfigError([`${source.shown}: cannot be read`]);
  }
  const text = new TextDecoder("utf-8").decode(bytes);
  const problems: string[] = [];
  const tasks: PlacedTask[] = [];
  for (const [i, raw] of text.split("\n").entries()) {
    const line = raw.endsWith("\r") ? raw.slice(0, -1) : raw;
    if (line.trim() === "") continue;
    const place = `${source.shown}:${i + 1}`;
    try {
      tasks.push({
        task: source.rowSchema === undefined ? readTask(line, source) : rowTask(line, i + 1, source),
        place,
      });
    } catch (error) {
      problems.push(`${place}: ${error instanceof Error ? error.message.split("\n")[0] : String(error)}`);
    }
  }
  problems.push(...duplicates(tasks));
  if (problems.length > 0) throw new ConfigError(problems);
  if (tasks.length === 0) throw new ConfigError([`${source.shown}: holds no tasks`]);
  return { tasks, digest: `sha256:${createHash("sha256").update(bytes).digest("hex")}` };
}

function parseJson(line: string): JsonValue {
  try {
    return JSON.parse(line) as JsonValue;
  } catch {
    throw new Error("expected one JSON value, found text that is no JSON");
  }
}

/** A published row, unparsed but for being JSON; it is named by its line, so that equal rows stay apart (field-case-110). */
function rowTask(line: string, number: number, { rowSchema = "", taskset, environment }: TaskFile): Task {
  const value = parseJson(line);
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Error("expected a JSON object, found another JSON value");
  }
  return create(TaskSchema, {
    taskId: { taskset: taskset ?? rowSchema, id: String(number) },
    environment,
    row: { data: new TextEncoder().encode(line), mediaType: "application/json", rowSchema },
  });
}

function readTask(line: string, { environment, taskset }: TaskFile): Task {
  const task = fromJson(TaskSchema, parseJson(line));
  if (task.environment === "") task.environment = environment;
  if (taskset !== undefined && task.taskId !== undefined && task.taskId.taskset === "")
    task.taskId.taskset = taskset;
  validate(TaskSchema, task);
  return task;
}

/** Tasks of one name cannot be told apart afterwards, so they are refused (field-case-110). */
function duplicates(tasks: readonly PlacedTask[]): string[] {
  const seen = new Map<string, string>();
  const problems: string[] = [];
  for (const { task, place } of tasks) {
    const key = JSON.stringify([task.taskId?.taskset, task.taskId?.id]);
    const first = seen.get(key);
    if (first === undefined) seen.set(key, place);
    else problems.push(`${place}: the task id "${task.taskId?.id}" was used at ${first}; ids must differ`);
  }
  return problems;
}
