import { createHash } from "node:crypto";
import { create, toBinary } from "@bufbuild/protobuf";
import {
  type EpisodeContext,
  EpisodeContextSchema,
  type Task,
  type TaskId,
  TaskSchema,
} from "../gen/index.js";
import type { PlacedTask } from "./task-set.js";

/** One episode that is to be run: a task and which repeat of it. */
export interface PlannedEpisode {
  /** Place in the plan, which is the order of every export. */
  readonly index: number;
  readonly rolloutId: string;
  readonly groupId: string;
  readonly repeat: number;
  readonly task: Task;
  /** Where the task was read, for messages. */
  readonly place: string;
}

/** What is to be run, in order: each task, each of its repeats. */
export interface Plan {
  readonly runId: string;
  readonly episodes: readonly PlannedEpisode[];
  /** Groups of repeats: one for each task. */
  readonly groups: number;
}

/** Characters of a task id that a rollout_id shows; the hash behind it tells ids apart. */
const slugLength = 40;

/** A name made from a task id, which may be any text: a slug of it and a hash. */
export function taskSlug(taskId: TaskId | undefined): string {
  const text = taskId === undefined ? "" : `${taskId.taskset === "" ? "" : `${taskId.taskset}-`}${taskId.id}`;
  const slug = text
    .replace(/[^A-Za-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, slugLength);
  const hash = createHash("sha256")
    .update(JSON.stringify([taskId?.taskset, taskId?.id]))
    .digest("hex")
    .slice(0, 12);
  return slug === "" ? `t-${hash}` : `${slug}-${hash}`;
}

/** Plans the episodes of a run. Rollout ids end in `.r<repeat>`, so none looks like an attempt's key (ALL-ID-006). */
export function planEpisodes(tasks: readonly PlacedTask[], repeats: number, runId: string): Plan {
  const episodes = tasks.flatMap(({ task, place }, i) => {
    const slug = taskSlug(task.taskId);
    return Array.from({ length: repeats }, (_, repeat) => ({
      index: i * repeats + repeat,
      rolloutId: `${runId}.${slug}.r${repeat}`,
      groupId: `${runId}.${slug}`,
      repeat,
      task,
      place,
    }));
  });
  return { runId, episodes, groups: tasks.length };
}

/** Digest over the tasks whole and in order, privileged parts included: other tasks are another run. */
export function tasksDigest(tasks: readonly PlacedTask[]): string {
  const hash = createHash("sha256");
  for (const { task } of tasks) {
    const bytes = toBinary(TaskSchema, task);
    hash.update(`${bytes.length}\n`).update(bytes);
  }
  return `sha256:${hash.digest("hex")}`;
}

/** The context of an attempt at a planned episode. */
export function contextOf({ rolloutId, groupId, repeat }: PlannedEpisode, attempt: number): EpisodeContext {
  return create(EpisodeContextSchema, { episodeId: { rolloutId, attempt }, groupId, groupIndex: repeat });
}
