import { FailureKind, Retry, StopReason } from "../../gen/index.js";
import type { Clock } from "../runtime/clock.js";
import { OperationFailure } from "../runtime/failure.js";
import type { AgentDefinition, Turn, TurnEnd } from "./define-agent.js";
import type { TurnRecord } from "./turn-record.js";

/** Milliseconds that a harness has to stop once its turn was ended. */
export const stopGraceMs = 2000;

/** How a turn is taken. */
export interface TakeTurnOptions<Options> {
  readonly definition: AgentDefinition<Options>;
  readonly turn: Turn<Options>;
  readonly record: TurnRecord;
  readonly clock: Clock;
  /** Aborts `turn.signal` when the turn is ended early. */
  readonly early: AbortController;
  /** Time of the turn in milliseconds; undefined: no bound. */
  readonly wallMs: number | undefined;
  /** Told once where the turn was ended early and the harness did not stop within the grace. */
  readonly onOverrun: () => void;
}

/** What may be done to a running turn. */
export interface TakenTurn {
  /** Ends it early; what the agent did until then is kept (AGT-INTR-001). */
  interrupt(): void;
  /** Resolves when the harness has returned, whether or not its end still counts. */
  readonly end: Promise<TurnEnd>;
}

/**
 * Runs the harness until it ends, its wall time is over (WALL_TIME) or Interrupt ends it (INTERRUPTED). Either way what
 * it did until then is kept (AGT-ACT-018, AGT-ACT-023).
 */
export function takeTurn<Options>(options: TakeTurnOptions<Options>): TakenTurn {
  const { record, clock, early, wallMs } = options;
  const stop = (why: StopReason): void => {
    record.stop(why);
    early.abort();
  };
  const wall = wallMs === undefined ? undefined : clock.setTimer(wallMs, () => stop(StopReason.WALL_TIME));
  const grace = graceTimer(options);
  return {
    interrupt: () => stop(StopReason.INTERRUPTED),
    end: runHarness(options).finally(() => {
      wall?.cancel();
      grace.cancel();
      // Work that the harness left running is told to stop: nothing of it is heard any more.
      early.abort();
    }),
  };
}

async function runHarness<Options>({ definition, turn, record }: TakeTurnOptions<Options>): Promise<TurnEnd> {
  try {
    const end = await definition.activate(turn);
    record.stop(end.stopReason);
    return { ...end, stopReason: record.stopReason ?? end.stopReason };
  } catch (error) {
    if (record.stopReason !== undefined) return { stopReason: record.stopReason };
    if (error instanceof OperationFailure) throw error;
    throw new OperationFailure(
      {
        kind: FailureKind.HARNESS_CRASHED,
        retry: Retry.NEVER,
        reason: "the harness ended with an unexpected error; the agent server's log has it",
      },
      { cause: error },
    );
  }
}

/** Begins to run when the turn is ended early. */
function graceTimer<Options>({ early, clock, onOverrun }: TakeTurnOptions<Options>): { cancel(): void } {
  let timer: { cancel(): void } | undefined;
  const arm = (): void => {
    timer = clock.setTimer(stopGraceMs, onOverrun);
  };
  early.signal.addEventListener("abort", arm, { once: true });
  return {
    cancel() {
      early.signal.removeEventListener("abort", arm);
      timer?.cancel();
    },
  };
}
