import type { EpisodeContext, Sampling, TaskId } from "../../gen/index.js";
import type { Principals } from "../runtime/principals.js";
import type { Session } from "../runtime/session.js";
import type { Sessions } from "../runtime/sessions.js";
import type { Capture } from "./capture.js";
import type { RunningCall } from "./running-call.js";

/** What the model server keeps of a gateway: the way to the model for one agent session. */
export interface Gateway {
  /** The credential that opens it; dead once the gateway has ended (MDL-GATE-006). */
  readonly key: string;
  readonly context: EpisodeContext;
  readonly agentId: string;
  readonly taskId: TaskId | undefined;
  /** Sampling that every call gets. */
  readonly sampling: Sampling | undefined;
  readonly capture: Capture;
  /** Calls that run, or whose model has not stopped yet. */
  readonly running: Set<RunningCall>;
}

/** A gateway that is open. */
export type OpenGateway = Session<Gateway> & { readonly state: Gateway };

/** The gateways of a server. */
export interface Gateways {
  readonly sessions: Sessions<Gateway>;
  /** Ids by key, for keys that are alive. */
  readonly keys: Map<string, string>;
  /** Who else may call; undefined: the controller shows no credential. */
  readonly principals: Principals | undefined;
}
