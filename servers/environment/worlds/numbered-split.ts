import type { MessageInitShape } from "@bufbuild/protobuf";
import type { TaskSchema } from "../../../gen/index.js";
import type { TaskSplit } from "../../index.js";

/** A task but for its id. */
export type NumberedTask = Omit<MessageInitShape<typeof TaskSchema>, "$typeName" | "taskId">;

/** What the tasks of a split are made of. */
export interface NumberedSplit {
  readonly revision: string;
  readonly taskset: string;
  /** The split's name, with which its ids begin: no task is in two splits. */
  readonly name: string;
  /** Number of tasks. Absent: endless. */
  readonly size?: number;
  /** The task of an id, from its number in the split. */
  make(id: string, index: number): NumberedTask;
}

/** A split whose tasks are made from their numbers: `train-0`, `train-1`, and so on. */
export function numberedSplit({ revision, taskset, name, size, make }: NumberedSplit): TaskSplit {
  return {
    revision,
    taskset,
    ...(size === undefined ? {} : { size }),
    at(index) {
      const id = `${name}-${index}`;
      return { ...make(id, index), taskId: { taskset, id } };
    },
    indexOf(id) {
      const index = Number(id.slice(name.length + 1));
      return id === `${name}-${index}` && Number.isSafeInteger(index) && index >= 0 ? index : undefined;
    },
  };
}
