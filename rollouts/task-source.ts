import { resolve } from "node:path";
import { ConfigError } from "../servers/composition/config-error.js";
import type { Config } from "../servers/composition/load-config.js";
import type { RunConfig, TaskSourceConfig } from "../servers/composition/run-schema.js";
import { type Benchmark, readBenchmark } from "./benchmark.js";

/** Where tasks come from. */
export type TaskSource =
  | {
      readonly from: "file";
      readonly file: string;
      /** Name of the file in messages. */
      readonly shown: string;
      /** Schema of published rows; absent: each line is a task in the contract's JSON. */
      readonly rowSchema: string | undefined;
      /** Task set of the tasks; absent: the row schema's name. */
      readonly taskset: string | undefined;
      /** Split of the tasks; absent: theirs, or none. */
      readonly split: string | undefined;
    }
  | {
      readonly from: "listing";
      readonly split: string;
      readonly taskset: string;
      /** A ConfigError that tells what is wrong with the split, where the configuration names it. */
      readonly refuse: (text: string) => ConfigError;
    };

/** Where the tasks of a run come from, and the benchmark that they are of. */
export interface TaskSources {
  readonly sources: readonly TaskSource[];
  readonly benchmark: Benchmark | undefined;
}

/** Reads where the tasks of a run come from; `given` is the file of the command line. Throws ConfigError. */
export async function taskSources(config: Config, run: RunConfig, given?: string): Promise<TaskSources> {
  const configured = Array.isArray(run.tasks) ? run.tasks : [run.tasks];
  const [only] = configured;
  if (configured.length === 1 && only !== undefined && "benchmark" in only) {
    return await ofBenchmark(config, only.benchmark, given);
  }
  if (configured.some((source) => "benchmark" in source)) {
    throw config.refuse([
      {
        path: ["run", "tasks"],
        text: "a benchmark stands alone: other tasks beside it would change its score",
      },
    ]);
  }
  if (given !== undefined && (configured.length > 1 || only === undefined || !("file" in only))) {
    throw new ConfigError(["--tasks: replaces a single file, and run.tasks names something else"]);
  }
  const sources = configured.flatMap((source, i) => {
    const path = Array.isArray(run.tasks) ? ["run", "tasks", i] : ["run", "tasks"];
    return "benchmark" in source ? [] : [ofEntry(config, source, { given, path })];
  });
  return { sources, benchmark: undefined };
}

type BenchmarkSource = Extract<TaskSourceConfig, { benchmark: string }>;

function ofEntry(
  config: Config,
  source: Exclude<TaskSourceConfig, BenchmarkSource>,
  { given, path }: { readonly given: string | undefined; readonly path: readonly PropertyKey[] },
): TaskSource {
  if ("split" in source) {
    const refuse = (text: string): ConfigError => config.refuse([{ path: [...path, "split"], text }]);
    return { from: "listing", split: source.split, taskset: source.taskset ?? "", refuse };
  }
  return {
    from: "file",
    file: given === undefined ? resolve(config.folder, source.file) : resolve(given),
    shown: given ?? source.file,
    rowSchema: source.row_schema,
    taskset: source.taskset,
    split: undefined,
  };
}

async function ofBenchmark(config: Config, path: string, given: string | undefined): Promise<TaskSources> {
  const benchmark = await readBenchmark(resolve(config.folder, path));
  const { file: own, name, tasks } = benchmark;
  const file = given === undefined ? own : resolve(given);
  if (file === undefined) {
    throw new ConfigError([`${path}: benchmark ${name} ships no tasks; give its file with --tasks`]);
  }
  const source: TaskSource = {
    from: "file",
    file,
    shown: given ?? tasks.file ?? file,
    rowSchema: tasks.row_schema,
    taskset: tasks.taskset,
    split: tasks.split,
  };
  return { sources: [source], benchmark };
}
