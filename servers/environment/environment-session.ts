import type { Observation, SessionDescriptor, StepResponse, Submission, Task } from "../../gen/index.js";
import type { StageProgress } from "./stages/stage-progress.js";
import type { PreparedTool } from "./tool/prepared-tool.js";
import type { StepFeed } from "./watch/step-feed.js";

/** One agent of a session. */
export interface AgentPart<State> {
  readonly agentId: string;
  /** The tools that it has now, by name. */
  tools: ReadonlyMap<string, PreparedTool<State>>;
  /** How its part ended; undefined while it may still act. */
  ended: "terminated" | "truncated" | undefined;
  /** Sum of its DELTA rewards, or its last CUMULATIVE one. */
  stepRewards: number;
  /** What it saw last. */
  observation: Observation | undefined;
}

/** What is there while a session is open. */
export interface World<Data, State> {
  readonly task: Task;
  readonly data: Data;
  readonly state: State;
  /** The session as Seed told it. */
  readonly descriptor: SessionDescriptor;
  /** The newest steps, for those that follow them; it counts them. */
  readonly feed: StepFeed;
  /** The newest answers of the sessions that it was forked from: what its agents saw before it began. */
  readonly before: readonly StepResponse[];
}

/** The step answers that a session's agents were given and that are kept, those before a fork among them. */
export function answersOf<Data, State>({
  before,
  feed,
}: Pick<World<Data, State>, "before" | "feed">): StepResponse[] {
  const own = feed.kept.flatMap(({ what }) =>
    typeof what === "object" && "response" in what ? [what.response] : [],
  );
  return [...before, ...own];
}

/** What the environment server keeps of a session. */
export interface EnvironmentSession<Data, State> {
  /** The world; let go with the session's release. */
  world: World<Data, State> | undefined;
  /** The agents by agent_id, in the definition's order. */
  readonly parts: ReadonlyMap<string, AgentPart<State>>;
  /** Who acts next; nobody once the episode is over for steps (ENV-MULT-002). */
  next: readonly string[];
  /** Where it stands among the stages of its task; undefined: a task of one piece. */
  readonly stages: StageProgress | undefined;
  /** Digest of the task, for receipts and verdicts. */
  readonly taskDigest: string;
  readonly maxSteps: number | undefined;
  readonly verifyTimeoutMs: number;
  /** The episode is over for steps: terminated, truncated, or a final verification has begun. */
  ended: boolean;
  /** A final verification has begun: the fence stands (ENV-FENC-001). */
  fenced: boolean;
  /** A final verification was answered for good: nothing is verified any more (ENV-VRFY-018). */
  verified: boolean;
  /** What a final verification was given, for its repetition under the next index (ENV-VRFY-024). */
  submitted: Submission | undefined;
}

/** The world of a session that an operation runs in. */
export function worldOf<Data, State>(session: EnvironmentSession<Data, State>): World<Data, State> {
  if (session.world === undefined) throw new Error("an operation runs in a session that was released");
  return session.world;
}

/** The part of an agent that is known to be of the session. */
export function partOf<Data, State>(
  session: EnvironmentSession<Data, State>,
  agentId: string,
): AgentPart<State> {
  const part = session.parts.get(agentId);
  if (part === undefined) throw new Error(`agent ${agentId} is of no session of this environment`);
  return part;
}
