import type { MessageInitShape } from "@bufbuild/protobuf";
import { CallError, type ClientCallOptions } from "../../clients/index.js";
import { type Boundary, type EpisodeEventSchema, FailureKind, Retry, Stage } from "../../gen/index.js";
import type { Clock, Timer } from "../runtime/clock.js";
import { cutText, OperationFailure } from "../runtime/failure.js";
import { causeOf, failureOf } from "../runtime/peer-failure.js";
import { knobs, type PhaseTimeouts } from "./timeouts.js";

/** Something that an episode tells. */
export type EpisodeTold = NonNullable<MessageInitShape<typeof EpisodeEventSchema>["event"]>;

/** A phase of an episode: one call that its driver orders, with its repeats. */
export interface Phase {
  readonly stage: Stage;
  readonly timing: keyof Timings;
  readonly boundary: Boundary;
  /** The bound that holds for it. */
  readonly bound: "seedMs" | "openMs" | "activationMs" | "verificationMs" | "episodeMs";
  readonly agentId?: string;
  readonly index?: number;
  /** Whether the episode's own clock bounds it too. */
  readonly inEpisodeClock: boolean;
  /** Kind of failure where the peer refuses for good. */
  readonly refused?: FailureKind;
}

/** Milliseconds spent in each phase; what happens at the same time counts once. */
export type Timings = Partial<Record<"check" | "seed" | "open" | "activate" | "verify" | "cleanUp", number>>;

/** What phases need. */
export interface PhasesOptions {
  readonly clock: Clock;
  readonly timeouts: PhaseTimeouts;
  readonly tell: (event: EpisodeTold) => void;
  /** Aborts, with the failure as its reason, when the episode must end without a verdict. */
  readonly abandon: AbortSignal;
}

/**
 * Milliseconds that a peer has beyond the bound of a phase. It was told the bound and ends its work by itself; what it
 * then says is better than a mere silence.
 */
export const answerGraceMs = 1000;

/**
 * The phases of one episode: told as stages, timed, each within its own bound, all within the episode's (E5). Their
 * calls end with the episode; their errors become failures that name the stage and what the boundary saw.
 */
export class Phases {
  readonly timings: Timings = {};
  /** What runs now of each timing, and since when. */
  readonly #running = new Map<keyof Timings, { count: number; readonly since: number }>();
  readonly #options: PhasesOptions;
  readonly #ended = new AbortController();
  #stage = Stage.ADMISSION;
  #deadline: number | undefined;

  constructor(options: PhasesOptions) {
    this.#options = options;
    const { abandon } = options;
    if (abandon.aborted) this.#ended.abort(abandon.reason);
    else abandon.addEventListener("abort", () => this.#ended.abort(abandon.reason), { once: true });
  }

  /** The stage that was begun last. */
  get stage(): Stage {
    return this.#stage;
  }

  /** The episode has ended without a verdict: stopped, orphaned, out of time, or something that it opened is lost. */
  get ended(): boolean {
    return this.#ended.signal.aborted;
  }

  /** Aborts with `ended`. */
  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  /** Ends the episode without a verdict; the first reason holds. */
  end(failure: OperationFailure): void {
    this.#ended.abort(failure);
  }

  /** Tells that a stage has begun (EPI-EVT-001). */
  begin(stage: Stage, agentId = "", index = 0): void {
    this.#stage = stage;
    const value = { $typeName: "touchstone.v1.StageBegun", stage, agentId, index } as const;
    this.#options.tell({ case: "stage", value });
  }

  /** Runs one phase; `work` must end with the signal that it is given. */
  async run<T>(phase: Phase, work: (options: ClientCallOptions) => Promise<T>): Promise<T> {
    const { clock, timeouts } = this.#options;
    if (this.ended) throw asFailure(this.#ended.signal.reason, phase);
    this.begin(phase.stage, phase.agentId, phase.index);
    const boundMs = timeouts[phase.bound];
    const began = clock.now();
    const own = new AbortController();
    const timer = clock.setTimer(boundMs + answerGraceMs, () => own.abort(passed(phase.bound, boundMs)));
    const episodeTimer = phase.inEpisodeClock ? this.#startClock() : undefined;
    this.#timeBegins(phase.timing);
    try {
      const signal = AbortSignal.any([this.#ended.signal, own.signal]);
      // EPI-E6-004, EPI-E6-008: what is refused for now is repeated in place as long as the phase may take.
      return await work({ signal, repeat: { withinMs: boundMs } });
    } catch (error) {
      throw this.#failure(error, phase, { own: own.signal, tookMs: clock.now() - began });
    } finally {
      timer.cancel();
      episodeTimer?.cancel();
      this.#timeEnds(phase.timing);
    }
  }

  #timeBegins(timing: keyof Timings): void {
    const running = this.#running.get(timing);
    if (running === undefined) this.#running.set(timing, { count: 1, since: this.#options.clock.now() });
    else running.count += 1;
  }

  #timeEnds(timing: keyof Timings): void {
    const running = this.#running.get(timing);
    if (running === undefined) return;
    running.count -= 1;
    if (running.count > 0) return;
    this.#running.delete(timing);
    this.timings[timing] = (this.timings[timing] ?? 0) + (this.#options.clock.now() - running.since);
  }

  /** The episode's clock runs from Seed, and only while something of Seed to the last activation does (E5). */
  #startClock(): Timer {
    const { clock, timeouts } = this.#options;
    this.#deadline ??= clock.now() + timeouts.episodeMs;
    return clock.setTimer(this.#deadline - clock.now(), () => {
      const failure = passed("episodeMs", timeouts.episodeMs);
      failure.failure.stage = Stage.ACTIVATE;
      this.end(failure);
    });
  }

  /** What a phase failed with: the episode's end, its own bound, or what its peer did. */
  #failure(error: unknown, phase: Phase, { own, tookMs }: { own: AbortSignal; tookMs: number }): unknown {
    const { boundary, refused } = phase;
    const cut = [this.#ended.signal, own].find(({ aborted }) => aborted);
    if (cut !== undefined) {
      const failure = asFailure(cut.reason, phase);
      if (error instanceof CallError && failure instanceof OperationFailure) {
        failure.failure.causes.push(causeOf(error, boundary, failure.failure.kind));
      }
      return failure;
    }
    const told = failureOf(error, {
      boundary,
      lost: FailureKind.UNAVAILABLE,
      ...(refused === undefined ? {} : { refused }),
    });
    const boundMs = this.#options.timeouts[phase.bound];
    const ranOut = told instanceof OperationFailure && told.failure.kind === FailureKind.TIMEOUT;
    // field-case-055: the peer's own words do not say by whose bound it ran out of time. A bound within its work, of a step
    // for one, passes earlier, and is told as it is.
    if (ranOut && tookMs >= boundMs * bySameClock) {
      const knob = `${knobs[phase.bound]} (${boundMs} ms)`;
      told.failure.reason = cutText(`${knob} has passed: ${told.failure.reason}`, 2000);
    }
    return asFailure(told, phase);
  }
}

/** The share of a bound that has passed here when the peer, whose clock is another, finds it passed. */
const bySameClock = 0.98;

/** The failure of a bound that has passed, named as the configuration names it. */
export function passed(bound: keyof PhaseTimeouts, ms: number): OperationFailure {
  return new OperationFailure({
    kind: FailureKind.TIMEOUT,
    retry: Retry.NEW_ATTEMPT,
    reason: `${knobs[bound]} of ${ms} ms has passed`,
  });
}

/** A copy of a failure that names the phase where it says no stage or agent itself. */
function asFailure(error: unknown, { stage, agentId = "" }: Phase): unknown {
  if (!(error instanceof OperationFailure)) return error;
  const { failure } = error;
  return new OperationFailure(
    {
      ...failure,
      stage: failure.stage === Stage.UNSPECIFIED ? stage : failure.stage,
      agentId: failure.agentId === "" ? agentId : failure.agentId,
      causes: [...failure.causes],
    },
    { cause: error },
  );
}
