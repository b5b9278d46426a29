import type { DescMethod } from "@bufbuild/protobuf";
import type { CallMetadata, ChannelStats } from "../channel.js";
import type { CallEnd } from "./call-end.js";

/** One call, as a transport needs to know it, and what it is told of the call. */
export interface TransportCaller {
  readonly method: DescMethod;
  /** Metadata to send, beside the deadline. */
  readonly headers: Readonly<Record<string, string>> | undefined;
  /** Milliseconds until the deadline; undefined without one. */
  remainingMs(): number | undefined;
  /** The peer's headers, at most once, before the messages; never where it only sent trailers. */
  onHeaders(headers: CallMetadata): void;
  /** A message, its bytes without frame. */
  onMessage(bytes: Uint8Array): void;
  /** The end: at least once unless cancelled; only the first one counts. */
  onEnd(end: CallEnd, trailers: CallMetadata | undefined): void;
}

/** The transport's side of a call. */
export interface TransportCall {
  /**
   * Sends a message; with `last` nothing more follows.
   *
   * @returns A promise where the next message should wait: it resolves when there is room, or the call has ended.
   */
  send(bytes: Uint8Array, last: boolean): Promise<void> | undefined;
  /** Nothing more follows. */
  halfClose(): void;
  /** Stops taking messages from the peer as soon as possible; those that came are still told. */
  pause(): void;
  /** Goes on after {@link pause}. */
  resume(): void;
  /** Ends the call towards the peer. Nothing more is told. */
  cancel(): void;
  /** Whether anything of the call may have left. */
  readonly sent: boolean;
  /** What it waits for before it can be sent; undefined when it was sent. */
  readonly waitsFor: string | undefined;
}

/** Brings calls to one server: gRPC without messages' meaning, deadlines' clocks or callers' signals. */
export interface Transport {
  readonly target: string;
  /** Begins a call. Problems are told by {@link TransportCaller.onEnd}, never thrown and never before it returns. */
  start(caller: TransportCaller): TransportCall;
  stats(): ChannelStats;
  close(): Promise<void>;
}
