import type { MessageInitShape } from "@bufbuild/protobuf";
import type { TaskSchema } from "../../../gen/index.js";

/** Tasks that an environment lists itself, in an order of their own (feature TASK_LISTING). */
export interface TaskSplit {
  /** Changes whenever the tasks or their order do. */
  readonly revision: string;
  /** Its task set. Absent: there is one. */
  readonly taskset?: string;
  /** Number of tasks. Absent: endless. */
  readonly size?: number;
  /** The task at a place, from 0; environment, split, revision and task set are filled in. */
  at(index: number): MessageInitShape<typeof TaskSchema>;
  /** The place of a task by its id. Absent from finite splits: each is looked through once. */
  indexOf?(id: string): number | undefined;
}
