import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  CloseReceipt,
  EpisodeContext,
  EpisodeContextSchema,
  EpisodeIdSchema,
  Lease,
} from "../../../gen/index.js";
import type { Trial } from "../../check/trial.js";
import type { Reply } from "../../subject/reply.js";
import type { AskedOperation, AskOptions, OperationEnd } from "./operation-kind.js";

/** How a session is opened; what is not said is the fixture's. */
export interface OpenInit {
  readonly sessionId?: string;
  readonly leaseMs?: number;
  readonly context?: EpisodeContext;
}

/** Answer of a Close, whatever service it is of. */
export interface Closed {
  readonly receipt?: CloseReceipt | undefined;
}

/** A call that acts on a session, under a name that nobody used. */
export interface SessionCall {
  /** Name of its rpc. */
  readonly rpc: string;
  ask(): Promise<Pick<OperationEnd, "status">>;
}

/** A session of any service, as R5 and R6 see it. */
export interface SharedSession {
  readonly id: string;
  readonly context: EpisodeContext | undefined;
  /** The context, as the creating call echoed it. */
  readonly echoed: EpisodeContext | undefined;
  /** As the creating call echoed it. */
  readonly lease: Lease | undefined;
  /** Its creating call, to be repeated. */
  readonly created: AskedOperation;
  /** Close, by its own episode or another. */
  close(
    options?: AskOptions & { readonly episodeId?: MessageInitShape<typeof EpisodeIdSchema> },
  ): Promise<Reply<Closed>>;
  keepAlive(options?: AskOptions): Promise<Reply<{ readonly lease?: Lease | undefined }>>;
  /** Every rpc that acts on it and that the subject declares, each under a new name. */
  calls(): readonly SessionCall[];
}

/** How the sessions of a profile are opened. */
export interface SessionKind<T extends Trial> {
  /** Name of the creating rpc. */
  readonly rpc: string;
  open(t: T, init?: OpenInit): Promise<SharedSession>;
  /** A session that nobody opened, to be asked and closed. */
  unopened(t: T, id: string, episodeId?: MessageInitShape<typeof EpisodeIdSchema>): SharedSession;
  /** Field of the creating request that is its id. */
  readonly idField: string;
  /** The context of an episode of its own, with this beside its id. */
  contextOf(t: T, init: MessageInitShape<typeof EpisodeContextSchema>): EpisodeContext;
  /** Bounds of Describe, in milliseconds. */
  bounds(t: T): {
    readonly minimum: number | undefined;
    readonly default: number | undefined;
    readonly maximum: number | undefined;
  };
}
