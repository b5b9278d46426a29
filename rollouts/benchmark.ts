import { dirname, resolve } from "node:path";
import { z } from "zod";
import { printable } from "../clients/printable.js";
import { ConfigError } from "../servers/composition/config-error.js";
import type { Config } from "../servers/composition/load-config.js";
import { readYaml } from "../servers/composition/read-yaml.js";
import { budgetSchema } from "../servers/composition/run-schema.js";
import { problemsOf } from "../servers/runtime/schema-problems.js";

const schema = z.strictObject({
  name: z.string().min(1),
  description: z.string().optional(),
  /** The environment that its tasks are for, by the name that the environment itself has. */
  environment: z.string().min(1),
  tasks: z.strictObject({
    /** Absent: the file is given by --tasks. */
    file: z.string().min(1).optional(),
    row_schema: z.string().min(1).optional(),
    taskset: z.string().min(1).optional(),
    split: z.string().min(1),
    /** Digest of the file's bytes: a run over any other bytes is another benchmark. */
    digest: z.string().regex(/^sha256:[0-9a-f]{64}$/, "expected sha256: and 64 hexadecimal digits"),
  }),
  /** The number that is the score. */
  metric: z.enum(["mean_reward", "pass_at_1"]),
  /** Name of the driver. */
  driver: z.string().min(1),
  /** How each task is tried; a run that says otherwise is another benchmark. */
  protocol: z.strictObject({
    repeats: z.int().min(1),
    attempts: z.int().min(1),
    budget: budgetSchema.optional(),
  }),
  /** Scores that were measured. */
  baselines: z
    .array(z.strictObject({ agent: z.string(), model: z.string().optional(), score: z.number() }))
    .default([]),
});

/** A benchmark: a task set pinned by digest, split, metric, driver and protocol over an environment. */
export interface Benchmark extends z.output<typeof schema> {
  /** The task file's path; absent where the run must give one. */
  readonly file: string | undefined;
}

/** Reads a benchmark. Throws ConfigError. */
export async function readBenchmark(path: string): Promise<Benchmark> {
  const { value, refuse } = await readYaml(path);
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw refuse(problemsOf(parsed.error, schema, []));
  const { file } = parsed.data.tasks;
  return { ...parsed.data, file: file === undefined ? undefined : resolve(dirname(path), file) };
}

/** Refuses a task set that is not the one that was pinned. */
export function checkDigest({ name, tasks }: Benchmark, digest: string, shown: string): void {
  if (digest === tasks.digest) return;
  throw new ConfigError([
    `${shown}: expected the tasks that benchmark ${name} pins (${tasks.digest}), found ${digest}; give that file, or run it as plain tasks`,
  ]);
}

/** Refuses an environment that is not the one that the benchmark's tasks are for. */
export function checkEnvironment(
  { name, environment }: Benchmark,
  found: { readonly name: string; readonly server: string },
  { refuse }: Pick<Config, "refuse">,
): void {
  if (found.name === environment) return;
  const text = `benchmark ${name} is over environment "${environment}", found "${printable(found.name)}" at ${found.server}; name a server of that environment`;
  throw refuse([{ path: ["run", "environment"], text }]);
}
