import { resolve } from "node:path";
import { create } from "@bufbuild/protobuf";
import {
  type Budget,
  BudgetSchema,
  CaptureLevel,
  OnAgentFailure,
  type RunRequest,
  RunRequestSchema,
  type Sampling,
  SamplingSchema,
} from "../gen/index.js";
import { ConfigError } from "../servers/composition/config-error.js";
import type { RunConfig, TaskSourceConfig } from "../servers/composition/config-schema.js";
import type { Config } from "../servers/composition/load-config.js";
import type { EnvironmentDefinition } from "../servers/environment/define-environment.js";
import { readTask } from "../servers/environment/seed.js";
import { definedFields } from "../servers/runtime/defined-fields.js";
import { fromMs } from "../servers/runtime/duration.js";
import { checkDigest, readBenchmark } from "./benchmark.js";
import { type PlacedTask, readTaskFile } from "./task-set.js";

/** What a command line changes of a run. */
export interface RunChanges {
  readonly tasks?: string;
  readonly agent?: string;
  readonly repeats?: number;
  readonly concurrency?: number;
}

/** A run's configuration with what the command line changed. */
export function changedRun(config: Config, changes: RunChanges): RunConfig {
  const { run } = config;
  if (run === undefined) throw new ConfigError([`${config.file}: run: is missing; a run needs it`]);
  const agents = { ...run.agents };
  if (changes.agent !== undefined) {
    if (config.servers.get(changes.agent)?.kind !== "agent") {
      const known = [...config.servers].filter(([, { kind }]) => kind === "agent").map(([name]) => name);
      throw new ConfigError([
        `--agent: no agent server "${changes.agent}"; known: ${known.join(", ") || "none"}`,
      ]);
    }
    const [first = "agent"] = Object.keys(agents);
    agents[first] = changes.agent;
  }
  return {
    ...run,
    agents,
    ...(changes.repeats === undefined ? {} : { repeats: changes.repeats }),
    ...(changes.concurrency === undefined ? {} : { concurrency: changes.concurrency }),
  };
}

/** Names of the servers that a run uses. */
export function serversOf(run: RunConfig): string[] {
  return [
    ...new Set([
      run.environment,
      ...Object.values(run.agents),
      ...Object.values(run.models),
      ...(run.sandbox === undefined ? [] : [run.sandbox]),
      run.driver,
    ]),
  ];
}

/** What tasks are read for. */
export interface TaskOptions {
  readonly folder: string;
  /** File given on the command line, in the place of the configuration's. */
  readonly file: string | undefined;
  /** The environment's name. */
  readonly environment: string;
  /** The world itself, where it runs here: then every task is read before anything starts (field-case-103). */
  readonly definition: EnvironmentDefinition<unknown, unknown> | undefined;
}

/** Reads the tasks of a run. Throws ConfigError with every problem found. */
export async function tasksOf(run: RunConfig, options: TaskOptions): Promise<PlacedTask[]> {
  const sources = Array.isArray(run.tasks) ? run.tasks : [run.tasks];
  if (options.file !== undefined && sources.length > 1) {
    throw new ConfigError([
      "--tasks: the configuration names several task files; it can replace only a single one",
    ]);
  }
  const sets = await Promise.all(sources.map((source) => readSource(source, options)));
  const tasks = sets.flat();
  const { definition } = options;
  if (definition !== undefined) {
    const problems = tasks.flatMap(({ task, place }) => {
      try {
        readTask(definition, task);
        return [];
      } catch (error) {
        return [`${place}: ${messageOf(error)}`];
      }
    });
    if (problems.length > 0) throw new ConfigError(problems);
  }
  return tasks;
}

function messageOf(error: unknown): string {
  if (typeof error === "object" && error !== null && "rawMessage" in error) return String(error.rawMessage);
  return error instanceof Error ? error.message : String(error);
}

async function readSource(source: TaskSourceConfig, options: TaskOptions): Promise<readonly PlacedTask[]> {
  const { folder, file: given, environment } = options;
  if ("split" in source) {
    throw new ConfigError([
      `run.tasks.split: listing tasks needs feature TASK_LISTING of the environment, which is not read yet; give a file`,
    ]);
  }
  if ("benchmark" in source) {
    const benchmark = await readBenchmark(resolve(folder, source.benchmark));
    const file = given ?? benchmark.file;
    if (file === undefined) {
      throw new ConfigError([`benchmark ${benchmark.name} ships no tasks: give its file with --tasks`]);
    }
    const set = await readTaskFile({
      file,
      shown: given ?? source.benchmark,
      rowSchema: benchmark.tasks.row_schema,
      taskset: benchmark.tasks.taskset,
      environment,
    });
    checkDigest(benchmark, set.digest, file);
    return set.tasks;
  }
  const set = await readTaskFile({
    file: given ?? resolve(folder, source.file),
    shown: given ?? source.file,
    rowSchema: source.row_schema,
    taskset: source.taskset,
    environment,
  });
  return set.tasks;
}

const policies = {
  fail: OnAgentFailure.FAIL,
  verify: OnAgentFailure.VERIFY,
  verify_masked: OnAgentFailure.VERIFY_MASKED,
} as const;
const captures = {
  summary: CaptureLevel.SUMMARY,
  items: CaptureLevel.ITEMS,
  tokens: CaptureLevel.TOKENS,
} as const;

/** What is asked of every episode of a run alike. */
export function requestOf(run: RunConfig, giveReference: boolean): RunRequest {
  return create(RunRequestSchema, {
    environment: run.environment,
    agents: Object.entries(run.agents).map(([agentId, agent]) => ({
      agentId,
      agent,
      model: run.models[agentId] ?? "",
      ...(run.sampling === undefined ? {} : { sampling: samplingOf(run.sampling) }),
      ...(run.budget === undefined ? {} : { budget: budgetOf(run.budget) }),
      instructions: run.instructions ?? "",
    })),
    sandbox: run.sandbox ?? "",
    envSeed: BigInt(run.seed),
    onAgentFailure: policies[run.on_agent_failure],
    verifyAttempts: run.verify_attempts,
    capture: captures[run.capture],
    giveReference,
  });
}

function budgetOf(budget: NonNullable<RunConfig["budget"]>): Budget {
  const big = (value: number | undefined) => (value === undefined ? undefined : BigInt(value));
  return create(
    BudgetSchema,
    definedFields({
      maxTurns: budget.max_turns,
      maxToolCalls: budget.max_tool_calls,
      maxOutputTokens: big(budget.max_output_tokens),
      maxTotalTokens: big(budget.max_total_tokens),
      maxContextTokens: big(budget.max_context_tokens),
      maxCostUsd: budget.max_cost_usd,
      wallTime: budget.wall_time === undefined ? undefined : fromMs(budget.wall_time),
    }),
  );
}

function samplingOf(sampling: NonNullable<RunConfig["sampling"]>): Sampling {
  const big = (value: number | undefined) => (value === undefined ? undefined : BigInt(value));
  return create(
    SamplingSchema,
    definedFields({
      temperature: sampling.temperature,
      topP: sampling.top_p,
      topK: sampling.top_k,
      maxOutputTokens: big(sampling.max_output_tokens),
      stop: sampling.stop,
      seed: big(sampling.seed),
      reasoningEffort: sampling.reasoning_effort,
    }),
  );
}
