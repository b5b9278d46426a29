import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Channel } from "../../clients/index.js";
import { EnvironmentService, type Task } from "../../gen/index.js";
import { readTaskFile } from "../../rollouts/task-file.js";
import { ConfigError } from "../../servers/composition/config-error.js";
import type { ShortForms } from "./short-forms.js";

/**
 * Reads the task that `--task FILE[:LINE]` names; one that names no environment is for the server's. Throws ConfigError.
 */
export async function readTask(
  { task: given = "", rowSchema }: ShortForms,
  channel: Channel,
  headers: Readonly<Record<string, string>>,
): Promise<Task> {
  const [, path = given, line] = existsSync(given) ? [] : (/^(.+):(\d+)$/.exec(given) ?? []);
  const file = {
    from: "file",
    file: resolve(path),
    shown: path,
    rowSchema,
    taskset: undefined,
    split: undefined,
  } as const;
  const { tasks } = await readTaskFile(file);
  const found = line === undefined ? tasks : tasks.filter(({ place }) => place === `${path}:${line}`);
  const [only] = found;
  if (only === undefined) throw new ConfigError([`--task: ${path} has no task on line ${line}`]);
  if (found.length > 1) {
    throw new ConfigError([
      `--task: ${path} has ${found.length} tasks; name the line of one, such as ${only.place}`,
    ]);
  }
  const { task } = only;
  if (task.environment === "") {
    const { message } = await channel.unary(
      EnvironmentService.method.describe,
      { $typeName: "touchstone.v1.EnvironmentServiceDescribeRequest" },
      { headers },
    );
    task.environment = message.environment;
  }
  return task;
}
