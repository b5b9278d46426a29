import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import { ConfigError } from "../servers/composition/config-error.js";
import { problemsOf } from "../servers/composition/problems.js";

const schema = z.strictObject({
  name: z.string().min(1),
  description: z.string().optional(),
  /** The environment that its tasks are for. */
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
  driver: z.string().min(1),
  protocol: z.strictObject({
    repeats: z.int().min(1),
    attempts: z.int().min(1),
  }),
  /** Scores that were measured. */
  baselines: z
    .array(z.strictObject({ agent: z.string(), model: z.string().optional(), score: z.number() }))
    .default([]),
});

/** A benchmark: a task set pinned by digest, split, metric, driver and protocol over an environment. */
export type Benchmark = z.output<typeof schema> & {
  /** The task file's path; absent where the run must give one. */
  readonly file: string | undefined;
};

/** Reads a benchmark. Throws ConfigError. */
export async function readBenchmark(file: string): Promise<Benchmark> {
  let read: unknown;
  try {
    read = parse(await readFile(file, "utf8"));
  } catch (error) {
    throw new ConfigError([
      `${file}: ${error instanceof Error ? error.message.split("\n")[0] : "cannot be read"}`,
    ]);
  }
  const parsed = schema.safeParse(read);
  if (!parsed.success)
    throw new ConfigError(problemsOf(parsed.error, schema, []).map((problem) => `${file}: ${problem}`));
  const { tasks } = parsed.data;
  return { ...parsed.data, file: tasks.file === undefined ? undefined : resolve(dirname(file), tasks.file) };
}

/** Refuses a task set that is not the one that was pinned. */
export function checkDigest(benchmark: Benchmark, digest: string, shown: string): void {
  if (digest === benchmark.tasks.digest) return;
  throw new ConfigError([
    `${shown}: its digest ${digest} is not the one that benchmark ${benchmark.name} pins (${benchmark.tasks.digest}); use that file, or run it as plain tasks`,
  ]);
}
