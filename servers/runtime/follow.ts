import type { HandlerContext } from "@connectrpc/connect";
import type { EventLog, SequencedEvent } from "./event-log.js";
import type { Operation } from "./operation.js";
import { Refusal } from "./refusal.js";
import type { Runtime } from "./runtime.js";

/** How a call follows an operation. */
export interface FollowEventsOptions<E> {
  readonly runtime: Runtime;
  readonly call: Pick<HandlerContext, "signal">;
  readonly afterSequence: bigint;
  heartbeat(): E;
  readonly gap?: (untilSequence: bigint) => E;
  readonly onLeave?: () => void;
}

/**
 * The events of a streamed operation, for one call; an operation that has begun goes on when the call ends (R7, R17), one
 * that waits is withdrawn when the last call that follows it does (ALL-ADM-003).
 */
export async function* followEvents<E extends SequencedEvent>(
  operation: Pick<Operation<unknown>, "events" | "attend">,
  options: FollowEventsOptions<E>,
): AsyncGenerator<E, void, undefined> {
  const events = operation.events as EventLog<E> | undefined;
  if (events === undefined)
    throw new Refusal("ANSWER_EXPIRED", "the events of this operation are no longer kept");
  const leave = operation.attend(options.call);
  try {
    yield* events.follow({
      afterSequence: options.afterSequence,
      signal: options.call.signal,
      clock: options.runtime.clock,
      heartbeat: options.heartbeat,
      ...(options.gap === undefined ? {} : { gap: options.gap }),
      ...(options.onLeave === undefined ? {} : { onLeave: options.onLeave }),
    });
  } finally {
    leave();
  }
}
