import type { Task } from "../gen/index.js";
import { ConfigError } from "../servers/composition/config-error.js";
import type { EnvironmentDefinition } from "../servers/environment/define-environment.js";
import { readTask } from "../servers/environment/seed/read-task.js";
import { badTasks, type TaskProblem } from "./bad-tasks.js";
import { type Benchmark, checkDigest } from "./benchmark.js";
import { oneLine } from "./error-text.js";
import { readTaskFile } from "./task-file.js";
import type { TaskSource } from "./task-source.js";

/** A task with the place that it was read from, for messages. */
export interface PlacedTask {
  readonly task: Task;
  /** `test.jsonl:7`. */
  readonly place: string;
}

/** Reads the files among the sources. Throws ConfigError with every problem of all of them. */
export async function readTaskFiles(
  sources: readonly TaskSource[],
  benchmark: Benchmark | undefined,
): Promise<ReadonlyMap<TaskSource, readonly PlacedTask[]>> {
  const problems: string[] = [];
  const read = new Map<TaskSource, readonly PlacedTask[]>();
  for (const source of sources) {
    if (source.from !== "file") continue;
    try {
      const file = await readTaskFile(source);
      if (benchmark !== undefined) checkDigest(benchmark, file.digest, source.shown);
      read.set(source, file.tasks);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      problems.push(...error.problems);
    }
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return read;
}

/** Tasks of one name cannot be told apart afterwards, so they are refused (field-case-110). Throws ConfigError. */
export function checkDistinct(tasks: readonly PlacedTask[]): void {
  const seen = new Map<string, string>();
  const problems: TaskProblem[] = [];
  for (const { task, place } of tasks) {
    const { taskset = "", id = "" } = task.taskId ?? {};
    const key = JSON.stringify([taskset, id]);
    const first = seen.get(key);
    if (first === undefined) seen.set(key, place);
    else problems.push({ place, text: `expected a task id of its own, found "${id}", which ${first} has` });
  }
  if (problems.length > 0) throw badTasks(problems);
}

/**
 * Gives tasks that name no environment the run's, and refuses those that name another one: nobody serves it
 * (field-case-107). Throws ConfigError.
 */
export function forEnvironment(
  tasks: readonly PlacedTask[],
  environment: { readonly name: string; readonly server: string },
): void {
  const problems: TaskProblem[] = [];
  for (const { task, place } of tasks) {
    if (task.environment === "") task.environment = environment.name;
    if (task.environment === environment.name) continue;
    problems.push({
      place,
      text: `expected a task for environment "${environment.name}", which server ${environment.server} serves, found one for "${task.environment}"`,
    });
  }
  if (problems.length > 0) throw badTasks(problems);
}

/** Lets the environment read every task, as Seed will, before anything starts (field-case-103). Throws ConfigError. */
export function checkTasks(
  tasks: readonly PlacedTask[],
  definition: EnvironmentDefinition<unknown, unknown>,
): void {
  const problems = tasks.flatMap(({ task, place }) => {
    try {
      readTask(definition, task);
      return [];
    } catch (error) {
      return [{ place, text: asWritten(oneLine(error)) }];
    }
  });
  if (problems.length > 0) throw badTasks(problems);
}

/** A field of a task as its file calls it: JSON for the environment alone is written as `privileged_json`. */
function asWritten(problem: string): string {
  return problem.replace(/^task\./, "").replace(/^privileged\b(?!_)/, "privileged_json");
}
