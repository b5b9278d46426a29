import { create } from "@bufbuild/protobuf";
import { encodedBytes } from "../../../clients/channel/encode-message.js";
import {
  type GetTaskRequest,
  type GetTaskResponse,
  GetTaskResponseSchema,
  type ListTasksRequest,
  type ListTasksResponse,
  ListTasksResponseSchema,
  type Task,
  TaskSchema,
} from "../../../gen/index.js";
import { invalidField, tooLarge } from "../../runtime/refusal.js";
import type { PageTokens } from "./page-token.js";
import type { TaskCatalogue } from "./task-catalogue.js";

/** Tasks of a page where the caller leaves it to the server. */
const defaultPageSize = 100;
/** Tasks of a page at most (ENV-LIST-010). */
const maximumPageSize = 1000;
/** What a task adds to a page beside itself, and the page's own fields, at most. */
const framing = 16;
const pageBytes = 1024;

/** What a listing works with. */
export interface Listing {
  readonly catalogue: TaskCatalogue;
  readonly tokens: PageTokens;
  /** Bytes that the answer may have: a page ends before it is larger (R11). */
  readonly maxBytes: number;
}

/** A page of a split, in the split's own order (ENV-LIST-001, ENV-LIST-004). */
export function listTasks(
  { catalogue, tokens, maxBytes }: Listing,
  request: ListTasksRequest,
): ListTasksResponse {
  const { pageToken, pageSize, includePrivileged } = request;
  const split = catalogue.split(request.split, request.taskset);
  const page = { split: split.name, taskset: split.taskset ?? "" };
  const end = split.size ?? Number.POSITIVE_INFINITY;
  const tasks: Task[] = [];
  const wanted = pageSize === 0 ? defaultPageSize : Math.min(pageSize, maximumPageSize);
  let index = tokens.read(pageToken, page);
  let bytes = pageBytes;
  for (; index < end && tasks.length < wanted; index += 1) {
    const task = seenBy(catalogue.at(split, index), includePrivileged);
    bytes += encodedBytes(TaskSchema, task) + framing;
    if (bytes > maxBytes) {
      if (tasks.length === 0) throw tooLarge({ limit: maxBytes, actual: bytes });
      break;
    }
    tasks.push(task);
  }
  return create(ListTasksResponseSchema, {
    tasks,
    nextPageToken: index < end ? tokens.of({ ...page, index }) : "",
    revision: split.revision,
    ...(split.size === undefined ? {} : { totalSize: BigInt(split.size) }),
  });
}

/** One task by its id. */
export function getTask(catalogue: TaskCatalogue, request: GetTaskRequest): GetTaskResponse {
  if (request.taskId === undefined) throw invalidField("task_id", "is required");
  const task = seenBy(catalogue.task(request.taskId), request.includePrivileged);
  return create(GetTaskResponseSchema, { task });
}

/** A task, without what is privileged where that was not asked for (R16). */
function seenBy(task: Task, includePrivileged: boolean): Task {
  if (includePrivileged) return task;
  const { privileged: _privileged, reference: _reference, row: _row, ...open } = task;
  return create(TaskSchema, open);
}
