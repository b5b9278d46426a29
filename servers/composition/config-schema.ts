import { z } from "zod";

const durationUnits = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 } as const;

/** A duration as people write it (`500ms`, `30s`, `5m`, `2h`), read as milliseconds. */
export const duration = z
  .string({ error: "expected a duration such as 500ms, 30s or 5m" })
  .regex(/^\d+(\.\d+)?(ms|s|m|h)$/, "expected a duration such as 500ms, 30s or 5m")
  .transform((text) => {
    const [, amount = "", unit = "ms"] = /^([\d.]+)(\D+)$/.exec(text) ?? [];
    return Number(amount) * durationUnits[unit as keyof typeof durationUnits];
  });

const positive = duration.refine((ms) => ms > 0, "expected a duration above 0");
const count = z.int().min(1);

/** What every server of ours may be told, wherever it stands. */
const common = {
  /** `host:port`; absent: a free port of the loopback interface. */
  listen: z
    .string()
    .regex(/^(\[[^\]]+\]|[^:]+):\d{1,5}$/, "expected host:port")
    .optional(),
  /** Bearer token for a server at a URL. */
  credential: z.string().min(1).optional(),
  /** Options of the implementation. */
  options: z.record(z.string(), z.unknown()).optional(),
  tls: z.strictObject({ cert: z.string(), key: z.string(), client_ca: z.string().optional() }).optional(),
  /** Time that held sessions are served after SIGTERM. */
  drain_timeout: duration.optional(),
  max_message_bytes: z
    .int()
    .min(4 << 20)
    .optional(),
};

/** What a server that holds sessions may be told. */
const holding = {
  max_sessions: count.optional(),
  /** Longest wait for a free place; needs max_sessions. */
  queue_timeout: duration.optional(),
  max_lifetime: positive.optional(),
};

const environment = z.strictObject({
  environment: z.string().min(1),
  /** Sandbox server that it takes boxes from. */
  sandbox: z.string().min(1).optional(),
  ...common,
  ...holding,
});
const agent = z.strictObject({ agent: z.string().min(1), ...common, ...holding });
const model = z.strictObject({
  model: z.string().min(1),
  /** Calls on their way at once; more wait in a queue. */
  max_concurrent_calls: count.optional(),
  ...common,
  ...holding,
});
const sandbox = z.strictObject({ sandbox: z.string().min(1), ...common, ...holding });
const episode = z.strictObject({
  /** Its drivers, the default first: a name of ours or the path of a module; or the URL of a server. */
  episode: z.union([z.string().min(1), z.array(z.string().min(1)).min(1)]),
  max_concurrent_episodes: count.optional(),
  /** Longest wait for a place; with max_concurrent_episodes it must be given (EPI-E4-004). */
  queue_timeout: positive.optional(),
  episode_timeout: positive.optional(),
  seed_timeout: positive.optional(),
  open_timeout: positive.optional(),
  activation_timeout: positive.optional(),
  verification_timeout: positive.optional(),
  cleanup_timeout: positive.optional(),
  ...common,
});

export type EnvironmentEntry = z.output<typeof environment>;
export type AgentEntry = z.output<typeof agent>;
export type ModelEntry = z.output<typeof model>;
export type SandboxEntry = z.output<typeof sandbox>;
export type EpisodeEntry = z.output<typeof episode>;

/** Schemas of the kinds of server, by the key that tells the kind; an environment may name a sandbox too. */
export const serverKinds = { environment, agent, model, episode, sandbox } as const;
export type ServerKind = keyof typeof serverKinds;

/** A server entry with its kind. */
export type ServerEntry =
  | { readonly kind: "environment"; readonly entry: EnvironmentEntry }
  | { readonly kind: "agent"; readonly entry: AgentEntry }
  | { readonly kind: "model"; readonly entry: ModelEntry }
  | { readonly kind: "sandbox"; readonly entry: SandboxEntry }
  | { readonly kind: "episode"; readonly entry: EpisodeEntry };

const taskSource = z.union([
  z.strictObject({
    /** A JSONL file: rows of a published data set with `row_schema`, else tasks in the contract's JSON. */
    file: z.string().min(1),
    row_schema: z.string().min(1).optional(),
    taskset: z.string().min(1).optional(),
  }),
  z.strictObject({ split: z.string().min(1) }),
  z.strictObject({ benchmark: z.string().min(1) }),
]);
export type TaskSourceConfig = z.output<typeof taskSource>;

const budget = z.strictObject({
  max_turns: count.optional(),
  max_tool_calls: count.optional(),
  max_output_tokens: count.optional(),
  max_total_tokens: count.optional(),
  max_context_tokens: count.optional(),
  max_cost_usd: z.number().positive().optional(),
  wall_time: positive.optional(),
});

const sampling = z.strictObject({
  temperature: z.number().min(0).optional(),
  top_p: z.number().positive().max(1).optional(),
  top_k: z.int().min(0).optional(),
  max_output_tokens: count.optional(),
  stop: z.array(z.string()).max(16).optional(),
  seed: z.int().min(0).optional(),
  reasoning_effort: z.string().optional(),
});

/** What `touchstone run` does. */
export const runSchema = z.strictObject({
  /** Name of the episode server. */
  driver: z.string().min(1),
  /** Name of the environment server. */
  environment: z.string().min(1),
  /** Agent server of each agent_id. */
  agents: z.record(z.string(), z.string().min(1)),
  /** Model server of each agent_id; agents that need none have none. */
  models: z.record(z.string(), z.string().min(1)).default({}),
  /** Sandbox server that boxes come from. */
  sandbox: z.string().min(1).optional(),
  tasks: z.union([taskSource, z.array(taskSource).min(1)]),
  /** Episodes of each task. */
  repeats: count.default(1),
  /** Episodes at once. */
  concurrency: count.default(16),
  /** Attempts of one episode; only what its failure calls retryable is tried again. */
  attempts: count.default(3),
  /** Episodes in a row that used up their attempts on infrastructure, after which the run stops. */
  breaker: count.default(10),
  /** Seed of the worlds: one for all repeats of a task, so that they can be compared. */
  seed: z.int().min(0).default(0),
  /** What each activation may use. */
  budget: budget.optional(),
  sampling: sampling.optional(),
  instructions: z.string().optional(),
  on_agent_failure: z.enum(["fail", "verify", "verify_masked"]).default("fail"),
  verify_attempts: count.default(3),
  /** What is kept of model calls. */
  capture: z.enum(["summary", "items", "tokens"]).default("items"),
});
export type RunConfig = z.output<typeof runSchema>;
