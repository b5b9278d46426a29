import { codeName } from "../clients/code-name.js";
import { CallError, type EnvironmentClient } from "../clients/index.js";
import { printable } from "../clients/printable.js";
import { type EnvironmentServiceDescribeResponse, Feature } from "../gen/index.js";
import type { PlacedTask } from "./task-set.js";
import type { TaskSource } from "./task-source.js";

type Listing = Extract<TaskSource, { readonly from: "listing" }>;

/** Times that a split may change while it is read, before that is told. */
const changesTaken = 3;

/** Reads the tasks of a split that an environment lists, whole. Throws ConfigError where it cannot. */
export async function listTasks(
  { split, taskset, refuse }: Listing,
  environment: { readonly client: EnvironmentClient; readonly described: EnvironmentServiceDescribeResponse },
): Promise<PlacedTask[]> {
  const { client, described } = environment;
  if (described.service?.features.includes(Feature.TASK_LISTING) !== true) {
    const name = printable(described.environment);
    throw refuse(`environment "${name}" lists no tasks (feature TASK_LISTING); give a file`);
  }
  try {
    for (let change = 0; change < changesTaken; change += 1) {
      const tasks = await readSplit(client, split, taskset);
      if (tasks?.length === 0) throw refuse(`"${split}" has no tasks`);
      if (tasks !== undefined) return tasks;
    }
  } catch (error) {
    if (!(error instanceof CallError)) throw error;
    const { rawMessage, reason, code } = error;
    throw refuse(`"${split}" cannot be listed: ${printable(rawMessage) || (reason ?? codeName(code))}`);
  }
  throw refuse(`"${split}" changed each of ${changesTaken} times that it was read`);
}

/** The tasks of a split; undefined where its revision changed between two pages. */
async function readSplit(
  client: EnvironmentClient,
  split: string,
  taskset: string,
): Promise<PlacedTask[] | undefined> {
  const tasks: PlacedTask[] = [];
  let revision: string | undefined;
  let pageToken = "";
  do {
    const page = await client.listTasks({ split, taskset, pageToken, includePrivileged: true });
    if (revision !== undefined && page.revision !== revision) return undefined;
    revision = page.revision;
    for (const task of page.tasks) tasks.push({ task, place: `split ${split}[${tasks.length}]` });
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  return tasks;
}
