import { create } from "@bufbuild/protobuf";
import {
  type Budget,
  BudgetSchema,
  CaptureLevel,
  type EpisodeContext,
  Feature,
  OnAgentFailure,
  type RunRequest,
  RunRequestSchema,
  type Sampling,
  SamplingSchema,
} from "../gen/index.js";
import type { BudgetConfig, SamplingConfig } from "../servers/composition/run-schema.js";
import type { CastDescribed } from "../servers/episode/cast-described.js";
import { definedFields } from "../servers/runtime/defined-fields.js";
import { fromMs } from "../servers/runtime/duration.js";
import type { PlannedEpisode } from "./plan.js";
import type { RunSettings } from "./run-settings.js";

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
export function requestOf(run: RunSettings, { agents }: Pick<CastDescribed, "agents">): RunRequest {
  // Asking for an oracle is asking that it be given the solution.
  const giveReference = [...agents.values()].some(({ agent }) =>
    agent.service?.features.includes(Feature.REFERENCE),
  );
  return create(RunRequestSchema, {
    driver: run.driverName,
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

/** The request of one attempt. */
export function episodeRequest(
  request: RunRequest,
  { task }: PlannedEpisode,
  context: EpisodeContext,
): RunRequest {
  return create(RunRequestSchema, { ...request, context, source: { case: "task", value: task } });
}

const big = (value: number | undefined) => (value === undefined ? undefined : BigInt(value));

function budgetOf(budget: BudgetConfig): Budget {
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

function samplingOf(sampling: SamplingConfig): Sampling {
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
