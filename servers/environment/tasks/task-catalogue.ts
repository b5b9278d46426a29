import { clone, create } from "@bufbuild/protobuf";
import { type Split, SplitSchema, type Task, type TaskId, TaskSchema } from "../../../gen/index.js";
import { Refusal, unknownName } from "../../runtime/refusal.js";
import { authorCall } from "../author-call.js";
import type { EnvironmentDefinition } from "../define-environment.js";
import type { TaskSplit } from "../definition/task-split.js";

/** A split and its name, in which every task can be found. */
export interface NamedSplit extends TaskSplit {
  readonly name: string;
  indexOf(id: string): number | undefined;
}

/** The tasks that an environment lists itself (feature TASK_LISTING). */
export interface TaskCatalogue {
  /** What Describe tells of them (ENV-DESC-006). */
  readonly described: readonly Split[];
  /** A split. Throws NAME_UNKNOWN (ENV-LIST-005). */
  split(name: string, taskset: string): NamedSplit;
  /** The whole task at a place of a split. */
  at(split: NamedSplit, index: number): Task;
  /** The whole task of an id. Throws TASK_UNKNOWN (ENV-LIST-006). */
  task(id: TaskId): Task;
}

/** The catalogue of a definition that has splits. Throws an Error that names what of them cannot be. */
export function taskCatalogue(
  environment: string,
  splits: NonNullable<EnvironmentDefinition<never, never>["splits"]>,
): TaskCatalogue {
  const named = Object.entries(splits).map(([name, split]): NamedSplit => bound(name, split));
  /** The task sets that have such an id, for whoever left theirs out or named another. */
  const elsewhere = (id: string): string => {
    const tasksets = named
      .filter((split) => indexOf(split, id) !== undefined)
      .map(({ taskset = "" }) => taskset);
    const names = [...new Set(tasksets)].map((taskset) =>
      taskset === "" ? `"${id}" without one` : `"${taskset}/${id}"`,
    );
    return names.length === 0 ? "" : `; there is ${names.join(", ")}`;
  };
  const catalogue: TaskCatalogue = {
    described: named.map(describeSplit),
    split(name, taskset) {
      const found = named.find(
        (split) => split.name === name && (taskset === "" || taskset === (split.taskset ?? "")),
      );
      if (found === undefined) {
        throw unknownName(
          "split",
          name,
          named.map((split) => split.name),
        );
      }
      return found;
    },
    at(split, index) {
      // A copy: what the author keeps is not written to.
      const task = authorCall(() => clone(TaskSchema, create(TaskSchema, split.at(index))));
      task.environment = environment;
      task.split = split.name;
      task.revision = split.revision;
      if (task.taskId !== undefined && split.taskset !== undefined) task.taskId.taskset = split.taskset;
      return task;
    },
    task({ taskset, id }) {
      for (const split of named) {
        if (taskset !== (split.taskset ?? "")) continue;
        const index = indexOf(split, id);
        if (index === undefined) continue;
        const task = catalogue.at(split, index);
        // A split may find a place for an id that is only like one of its own.
        if (task.taskId?.id === id) return task;
      }
      const field = "task_id";
      const description = `no split has a task "${id}"${taskset === "" ? " without a task set" : ` of task set "${taskset}"`}${elsewhere(id)}`;
      throw new Refusal("TASK_UNKNOWN", `${field}: ${description}`, { violations: [{ field, description }] });
    },
  };
  return catalogue;
}

/** A split whose functions are called as its own. Throws where it cannot be searched. */
function bound(name: string, split: TaskSplit): NamedSplit {
  if (name === "") throw new Error("splits: expected a name for each, found an empty one");
  if (split.size === undefined && split.indexOf === undefined) {
    throw new Error(`splits.${name}: an endless split needs indexOf, which finds a task of it`);
  }
  return {
    name,
    revision: split.revision,
    ...(split.taskset === undefined ? {} : { taskset: split.taskset }),
    ...(split.size === undefined ? {} : { size: split.size }),
    at: (index) => split.at(index),
    indexOf: split.indexOf === undefined ? searched(split) : (id) => split.indexOf?.(id),
  };
}

/** Finds the tasks of a finite split by looking through it, once: what was passed on the way is remembered. */
function searched(split: TaskSplit): (id: string) => number | undefined {
  const { size = 0 } = split;
  const places = new Map<string, number>();
  let looked = 0;
  return (id) => {
    for (; looked < size && !places.has(id); looked += 1) {
      const found = split.at(looked).taskId?.id;
      // Of two tasks with one id the first is found.
      if (found !== undefined && !places.has(found)) places.set(found, looked);
    }
    return places.get(id);
  };
}

function describeSplit({ name, taskset = "", revision, size }: NamedSplit): Split {
  return create(SplitSchema, {
    name,
    taskset,
    revision,
    ...(size === undefined ? {} : { taskCount: BigInt(size) }),
  });
}

function indexOf(split: NamedSplit, id: string): number | undefined {
  const index = authorCall(() => split.indexOf(id));
  return index === undefined || !isPlace(split, index) ? undefined : index;
}

function isPlace({ size }: NamedSplit, index: number): boolean {
  return Number.isSafeInteger(index) && index >= 0 && (size === undefined || index < size);
}
