import type { Duration } from "@bufbuild/protobuf/wkt";
import type { EpisodeContext, Lease } from "../../gen/index.js";
import type { Execution } from "./execution.js";
import type { FailureContext } from "./failure.js";
import type { Fingerprint } from "./fingerprint.js";
import type { Operation, OperationEvents, Outcome } from "./operation.js";
import type { Session } from "./session.js";

/** What an opening operation makes. */
export interface Opened<S, A> {
  readonly state: S;
  readonly answer: A;
  /** Operations that its numbering begins behind, by kind; absent: none (Fork). */
  readonly begun?: ReadonlyMap<string, number>;
}

/** The opening of a session: Seed, Open, OpenGateway. */
export interface Opening<S, A> {
  readonly id: string;
  readonly context: EpisodeContext;
  /** Kind of the rpc, so that an id opened by one cannot be opened by another (ALL-REPEAT-009). */
  readonly kind: string;
  readonly fingerprint: Fingerprint;
  readonly lease: Duration | undefined;
  readonly timeout: Duration | undefined;
  /** Checks what only a new opening needs, before a place is asked for; throws refusals. */
  readonly check?: () => void;
  /** Told when it has its place and begins; may still refuse, and holds nothing then. */
  readonly begin?: () => void;
  make(execution: Pick<Execution<unknown>, "signal">, opening: OpeningFacts): Promise<Opened<S, A>>;
}

/** What an opening operation tells its caller. */
export interface OpeningFacts {
  readonly answerId: string;
  readonly lease: Lease;
  readonly timeoutMs: number;
}

/** An operation of a session that is open. */
export interface SessionWork<S, A> {
  /** The kind, by which operations are numbered: `step`, `verification`. */
  readonly kind: string;
  /** Its number where the caller gives it: its name then. Absent: the server numbers it. */
  readonly index: number | undefined;
  /** Its name where the caller does not number it, kind first: `action:x`. */
  readonly ownName?: string | undefined;
  readonly fingerprint: Fingerprint;
  /** Newest answers of the kind that are kept while the session lives. Absent: all. */
  readonly keepNewest?: number;
  /** Bound of the work, told from the state where it depends on what opened the session. */
  readonly timeoutMs: number | ((state: S) => number);
  readonly context: FailureContext | ((state: S) => FailureContext);
  /** Checks at the session's turn, before anything is recorded; throws refusals. */
  readonly check?: (session: Session<S>) => void;
  readonly run: (run: SessionRun<S, A>) => A | Promise<A>;
  /** A failure of this kind of operation leaves the session as it was (Verify). */
  readonly harmless?: boolean;
  /** Told of the operation's outcome before its callers are. */
  readonly onEnd?: (outcome: Outcome<A>, run: SessionRun<S, A>) => void;
  /** The events of a streamed operation, made when it starts. */
  readonly events?: () => OperationEvents;
}

/** A running operation of a session. */
export interface SessionRun<S, A> {
  readonly session: Session<S>;
  readonly state: S;
  /** The number that the operation has, given by its caller or here. */
  readonly index: number;
  readonly answerId: string;
  readonly execution: Execution<A>;
  /** The operation itself, for its events and further names. */
  readonly operation: Operation<A>;
}
