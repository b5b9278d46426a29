import type { StepRequest, StepResponse } from "../../../gen/index.js";
import { EventLog } from "../../runtime/event-log.js";

/** A step that was taken, as it was asked for and answered. */
export interface TakenStep {
  readonly request: StepRequest;
  readonly response: StepResponse;
}

/** What a follower of the steps of a session gets. */
export interface FeedEvent {
  sequence: bigint;
  readonly what: TakenStep | "heartbeat" | { readonly untilSequence: bigint };
}

/** The newest steps of a session, by reference: taking one costs nothing more while nobody follows (ENV-WTCH-001). */
export type StepFeed = EventLog<FeedEvent>;

/** A feed of as many steps as answers are kept, behind the step of a sequence. */
export function createStepFeed(steps: number, last = 0n): StepFeed {
  return new EventLog<FeedEvent>(() => 1, { kept: steps, last });
}
