import type { SessionDescriptor, Submission } from "../../gen/index.js";
import type { ToolDefinition } from "./tool.js";

/** The agent of a session without MULTI_AGENT (ENV-SEED-019). */
export const soleAgent = "agent";

/** What is there while a session is open. */
export interface World<Data, State> {
  readonly data: Data;
  readonly state: State;
  readonly descriptor: SessionDescriptor;
  readonly tools: ReadonlyMap<string, ToolDefinition<State>>;
}

/** What the environment server keeps of a session. */
export interface EnvironmentSession<Data, State> {
  /** The world; let go with the session's release. */
  world: World<Data, State> | undefined;
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
  /** Place of the newest step in the ledger. */
  sequence: bigint;
  /** Sum of DELTA rewards, or the last CUMULATIVE one. */
  stepRewards: number;
  /** Names under which recent step answers are kept, oldest first. */
  readonly recentSteps: string[];
}

/** The world of a session that an operation runs in. */
export function worldOf<Data, State>(session: EnvironmentSession<Data, State>): World<Data, State> {
  if (session.world === undefined) throw new Error("an operation runs in a session that was released");
  return session.world;
}
