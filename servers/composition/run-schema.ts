import { z } from "zod";
import { isId } from "../runtime/identity.js";
import { duration, positiveDuration } from "./duration-text.js";

const count = z.int().min(1);

const taskSource = z.union([
  z.strictObject({
    file: z
      .string()
      .min(1)
      .describe(
        "A JSONL file: rows of a published data set with row_schema, else tasks in the contract's JSON.",
      ),
    row_schema: z.string().min(1).describe("Schema of the rows, one that the environment reads.").optional(),
    taskset: z.string().min(1).describe("Task set of the tasks. Absent: the row schema's name.").optional(),
  }),
  z.strictObject({
    split: z.string().min(1).describe("A split that the environment lists (feature TASK_LISTING)."),
    taskset: z.string().min(1).describe("Its task set, where the environment has several.").optional(),
  }),
  z.strictObject({
    benchmark: z
      .string()
      .min(1)
      .describe("A benchmark's file: it pins tasks, split, metric, driver and protocol."),
  }),
]);
export type TaskSourceConfig = z.output<typeof taskSource>;

/** What an activation may use. */
export const budgetSchema = z.strictObject({
  max_turns: count.optional(),
  max_tool_calls: count.optional(),
  max_output_tokens: count.optional(),
  max_total_tokens: count.optional(),
  max_context_tokens: count.optional(),
  max_cost_usd: z.number().positive().optional(),
  wall_time: positiveDuration.optional(),
});
export type BudgetConfig = z.output<typeof budgetSchema>;

const sampling = z.strictObject({
  temperature: z.number().min(0).optional(),
  top_p: z.number().positive().max(1).optional(),
  top_k: z.int().min(0).optional(),
  max_output_tokens: count.optional(),
  stop: z.array(z.string()).max(16).optional(),
  seed: z.int().min(0).optional(),
  reasoning_effort: z.string().optional(),
});
export type SamplingConfig = z.output<typeof sampling>;

/** Server names by agent_id. */
const byAgent = z.record(
  z.string().refine(isId, 'expected an agent_id: letters, digits, ".", "_", "-"'),
  z.string().min(1),
);

/** What `touchstone run` does. */
export const runSchema = z.strictObject({
  driver: z.string().min(1).describe("Name of the episode server."),
  environment: z
    .string()
    .min(1)
    .describe(
      "Name of the environment server. Absent: only where what plays the episodes does not speak the contract.",
    )
    .optional(),
  agents: byAgent
    .default({})
    .describe("Agent server of each agent_id. Absent: only where the episodes are played elsewhere."),
  models: byAgent.default({}).describe("Model server of each agent_id; an agent that needs none has none."),
  sandbox: z.string().min(1).describe("Name of the sandbox server that boxes come from.").optional(),
  tasks: z.union([taskSource, z.array(taskSource).min(1)]),
  repeats: count.describe("Episodes of each task. 1.").optional(),
  concurrency: count.default(16).describe("Episodes at once; never more than the episode server takes."),
  attempts: count
    .describe("Attempts of one episode; only what its failure calls retryable is tried again. 3.")
    .optional(),
  max_retry_delay: positiveDuration
    .default(30_000)
    .describe(
      "Longest wait before another attempt, where the failure asks for none: the first is 250ms, each further one twice as long. 30s.",
    ),
  breaker: count
    .default(10)
    .describe("Episodes in a row that used up their attempts on infrastructure, after which the run stops."),
  drain_timeout: duration
    .default(30_000)
    .describe("Time that episodes may go on once the run is asked to stop; then they are abandoned. 30s."),
  seed: z
    .int()
    .min(0)
    .default(0)
    .describe("Seed of the worlds: one for all repeats of a task, so that they can be compared."),
  budget: budgetSchema.describe("What each activation may use.").optional(),
  sampling: sampling.describe("Sampling of the models' gateways.").optional(),
  instructions: z.string().describe("System prompt. Absent: the harness's own.").optional(),
  on_agent_failure: z
    .enum(["fail", "verify", "verify_masked"])
    .default("fail")
    .describe(
      "What an agent's failure does: it is the episode's, or its work is verified, or verified and masked.",
    ),
  verify_attempts: count
    .default(3)
    .describe("Verifications at most, where one fails and the next may succeed."),
  capture: z.enum(["summary", "items", "tokens"]).default("items").describe("What is kept of model calls."),
});
export type RunConfig = z.output<typeof runSchema>;
