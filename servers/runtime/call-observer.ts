import type { DescMethod } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";

/** A call that a server got. */
export interface ObservedCall {
  readonly method: DescMethod;
  /** The request; undefined of a call whose requests are a stream. */
  readonly request: unknown;
  readonly context: HandlerContext;
}

/** How a call ended: `OK`, or the name of its code, and the reason where a refusal or failure of ours gave one. */
export interface CallOutcome {
  readonly code: string;
  readonly reason: string | undefined;
}

/** Told of every call of a server; for metrics and traces (off where a runtime has none). */
export interface CallObserver {
  /** A call begins; the function that it answers is called once, when the call has ended. */
  begin(call: ObservedCall): (outcome: CallOutcome) => void;
}
