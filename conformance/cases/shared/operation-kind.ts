import type { Failure, Feature } from "../../../gen/index.js";
import type { Trial } from "../../check/trial.js";
import type { CallStatus, Reply } from "../../subject/reply.js";
import type { CallOptions, Feed } from "../../subject/subject-client.js";
import type { StreamEvent } from "./events.js";
import type { Closed, OpenInit } from "./session-kind.js";

/** How an operation ended, whether its answer is one message or the last of a stream. */
export interface OperationEnd {
  /** The answer, or the terminal event's content; undefined: a status. */
  readonly answer: object | undefined;
  readonly status: CallStatus | undefined;
  /** answer_id; empty: there is none. */
  readonly answerId: string;
  /** The recorded failure, wherever the rpc carries it: in the answer or in the status's details. */
  readonly failure: Failure | undefined;
  /** The effective timeout that the answer told. */
  readonly timeoutMs: number | undefined;
  readonly headers: Headers;
  readonly trailers: Headers;
}

/** An operation that can be asked for, under a name that nobody else uses. Everything it stands on is there. */
export interface AskedOperation {
  /** Its request; a message of the contract. */
  readonly request: object;
  /** Nothing can make it slow: it ends before anybody could join it. */
  readonly quick?: boolean;
  /** Id of the session that it belongs to, or makes. */
  readonly sessionId: string;
  /** Asks, and waits for the end. `elsewhere`: over a connection of its own. */
  ask(request?: object, options?: AskOptions): Promise<OperationEnd>;
  /** Asks over a connection of its own, which `cut` cuts without a word. */
  askAndCut(): { readonly end: Promise<OperationEnd>; cut(): void };
  /** Closes its session. */
  close(options?: AskOptions): Promise<Reply<Closed>>;
  /** The same name with other content, which would be right under another name. */
  otherContent(): object;
  /** The same request with this timeout in it. */
  timed(milliseconds: number): object;
}

/** Where and how to ask. */
export interface AskOptions extends CallOptions {
  /** Over a new connection. */
  readonly elsewhere?: boolean;
}

/** What an operation is to do beside its work, as the fixture's provocations of that name say. */
export type Provoked =
  | "slow"
  | "long"
  | "hang"
  | "crash"
  | "never"
  | "new_attempt"
  | "next_index"
  | "invalid";

/** One kind of operation of a service: what the shared rules R2 to R9 are judged on. `T` is its profile's trial. */
export interface OperationKind<T extends Trial> {
  /** Name of the rpc, `Step`. */
  readonly rpc: string;
  readonly features: readonly Feature[];
  /** It carries a recorded failure in the answer; else as a status (R4). */
  readonly failureInAnswer: boolean;
  /** It makes its session (Seed, Open, Run, OpenGateway). */
  readonly creating: boolean;
  /** It has an index within its session; undefined: its name is an id. */
  readonly numbered: boolean;
  /** How its stream is read; undefined: it has a single answer. */
  readonly streamed?: {
    /** Arms that end it. */
    readonly terminal: readonly string[];
    /** Opens the stream, over a connection of its own. */
    open(t: T, request: object): Feed<object>;
    /** What one message of it is. */
    read(message: object): StreamEvent;
    /** Reads all of it; an end other than OK is a finding. */
    all(t: T, request: object): Promise<StreamEvent[]>;
  };
  /** The subject declares what it needs. */
  available(t: T): boolean;
  /** What it did, apart from ids and times: equal for equal work in equal sessions. */
  outcome(end: OperationEnd): unknown;
  /** Path that the refusal of the fixture's bad input must name; empty: any. */
  badPath(t: T): string;
  /** Text of the fixture's uncaught error. */
  crashText(t: T): string;
  /** Prepares one that ends well. */
  prepare(t: T): Promise<AskedOperation>;
  /**
   * Prepares one that does what is asked, in a session of its own. Without a line of conformance.yaml for it: a
   * MissingFixture (`slow`, `long` and `invalid` must be there, the others may).
   */
  provoke(t: T, what: Provoked, session?: OpenInit): Promise<AskedOperation>;
  /** The next operation of the same session: a valid one, under the next name. */
  following(t: T, before: AskedOperation): Promise<AskedOperation>;
  /** A valid one under the name of one that was refused. */
  instead(t: T, refused: AskedOperation): Promise<AskedOperation>;
  /** The first of its kind in the session of another kind's operation. */
  besides(t: T, other: AskedOperation): Promise<AskedOperation>;
}
