import { randomBytes } from "node:crypto";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { CallOptions, ClientOptions } from "../../clients/index.js";
import {
  type AgentEnd,
  type AgentView,
  type Boundary,
  type EpisodeEvent,
  EpisodeEventSchema,
  type EpisodeId,
  FailureKind,
  type ResourceIntent,
  ResourceIntentSchema,
  type ResourceKind,
  type RunRequest,
  Stage,
  type Verdict,
} from "../../gen/index.js";
import type { Clock, Timer } from "../runtime/clock.js";
import type { EventLog } from "../runtime/event-log.js";
import { OperationFailure, timeoutFailure } from "../runtime/failure.js";
import { episodeKey } from "../runtime/identity.js";
import { keyHeader } from "../runtime/instance.js";
import { failureOf } from "../runtime/peer-failure.js";
import { AgentTurns } from "./agent-turns.js";
import type { Cast, CastDescribed } from "./cast.js";
import { CleanUpStack } from "./clean-up-stack.js";
import type { Episode } from "./define-driver.js";
import { EnvironmentTurns } from "./environment-turns.js";
import { Renewals } from "./renewal.js";
import type { PhaseTimeouts } from "./timeouts.js";
import type { Trajectory } from "./trajectory.js";

/** What one episode is made of. */
export interface EpisodeParts {
  readonly request: RunRequest;
  readonly episodeId: EpisodeId;
  readonly cast: Cast;
  readonly described: CastDescribed;
  readonly timeouts: PhaseTimeouts;
  readonly clock: Clock;
  readonly events: EventLog<EpisodeEvent>;
  readonly trajectory: Trajectory;
  /** Aborts, with the failure as reason, when the episode must end without a verdict. */
  readonly abandon: AbortSignal;
  /** Aborts when the agent's turn must end and its work be verified. */
  readonly finish: AbortSignal;
}

/** Milliseconds that a call may take beyond the timeout of its operation before its peer counts as lost. */
const callSlackMs = 10_000;

/** Milliseconds spent in each phase. */
export type Timings = Partial<Record<"check" | "seed" | "open" | "activate" | "verify" | "cleanUp", number>>;

/**
 * One episode: the calls that a driver orders, with everything that must hold around them. Deadlines of phases and of
 * the episode (E5), intents and clean-up (E1, E2), renewals (E9), failures with their stage and causes (E6).
 */
export class EpisodeRun {
  readonly stack: CleanUpStack;
  readonly renewals: Renewals;
  readonly timings: Timings = {};
  readonly unenforced: string[] = [];
  readonly agents: AgentTurns;
  readonly environment: EnvironmentTurns;
  readonly #work = new AbortController();
  #deadline: number | undefined;

  constructor(readonly parts: EpisodeParts) {
    const { clock, timeouts, abandon } = parts;
    this.stack = new CleanUpStack({
      clock,
      timeoutMs: timeouts.cleanUpMs,
      onIntent: (intent) => this.tell({ case: "resourceIntent", value: intent }),
      onReleased: ({ kind, binding, id }) =>
        this.tell({
          case: "resourceReleased",
          value: { $typeName: "touchstone.v1.ResourceReleased", kind, binding, id },
        }),
    });
    this.renewals = new Renewals(clock);
    this.agents = new AgentTurns(this);
    this.environment = new EnvironmentTurns(this);
    const end = (): void => this.#work.abort(abandon.reason);
    if (abandon.aborted) end();
    else abandon.addEventListener("abort", end, { once: true });
  }

  /** The episode has ended without a verdict: stopped, orphaned, or out of time. */
  get ended(): boolean {
    return this.#work.signal.aborted;
  }

  /** What a driver sees of it. */
  get forDriver(): Episode {
    return {
      seed: () => this.environment.seed(),
      openAgent: (view: AgentView) => this.agents.open(view),
      verify: () => this.environment.verify(),
    };
  }

  /** Options of clients for this episode: all its calls carry its key (ALL-SCOPE-004). */
  get clientOptions(): ClientOptions {
    const { rolloutId } = this.parts.episodeId;
    return { headers: { [keyHeader]: rolloutId } };
  }

  /** Tells an event. */
  tell(event: NonNullable<MessageInitShape<typeof EpisodeEventSchema>["event"]>): void {
    this.parts.events.append(create(EpisodeEventSchema, { event }));
  }

  /** A new id under this episode, with 128 random bits. */
  newId(letter: string): string {
    return `${episodeKey(this.parts.episodeId)}.${letter}${randomBytes(16).toString("base64url")}`;
  }

  /** An intent of this episode. */
  intent(of: { kind: ResourceKind; binding: string; id: string; agentId?: string }): ResourceIntent {
    return create(ResourceIntentSchema, { ...of, episodeId: this.parts.episodeId });
  }

  /**
   * One phase: told as a stage, timed, bounded. Its calls end with the episode; its errors become failures that name
   * the stage (EPI-E5-003) and what the boundary saw.
   */
  async phase<T>(phase: Phase, work: (options: CallOptions) => Promise<T>): Promise<T> {
    const { clock } = this.parts;
    this.tell({
      case: "stage",
      value: {
        $typeName: "touchstone.v1.StageBegun",
        stage: phase.stage,
        agentId: phase.agentId ?? "",
        index: phase.index ?? 0,
      },
    });
    const started = clock.now();
    const timer = phase.inEpisodeClock ? this.#startClock() : undefined;
    const { signal } = this.#work;
    try {
      signal.throwIfAborted();
      return await Promise.race([
        work({ signal, timeoutMs: phase.timeoutMs + callSlackMs }),
        aborted(signal),
      ]);
    } catch (error) {
      const cause = signal.aborted ? signal.reason : error;
      const failure = failureOf(cause, { boundary: phase.boundary, lost: FailureKind.UNAVAILABLE });
      if (failure instanceof OperationFailure) {
        if (failure.failure.stage === Stage.UNSPECIFIED) failure.failure.stage = phase.stage;
        if (failure.failure.agentId === "") failure.failure.agentId = phase.agentId ?? "";
      }
      throw failure;
    } finally {
      timer?.cancel();
      this.timings[phase.timing] = (this.timings[phase.timing] ?? 0) + (clock.now() - started);
    }
  }

  /** The episode's clock runs from Seed, and only while something of Seed to the last activation does (E5). */
  #startClock(): Timer {
    const { clock, timeouts } = this.parts;
    this.#deadline ??= clock.now() + timeouts.episodeMs;
    return clock.setTimer(this.#deadline - clock.now(), () => {
      const failure = timeoutFailure("the episode (episode_timeout)", timeouts.episodeMs);
      failure.failure.stage = Stage.ACTIVATE;
      this.#work.abort(failure);
    });
  }

  /** Runs the driver to its verdict. */
  async run(): Promise<Verdict> {
    return await this.parts.cast.driver.run(this.forDriver);
  }

  /** How the agents' parts ended. */
  get agentEnds(): AgentEnd[] {
    return this.agents.ends;
  }
}

/** A phase of an episode. */
export interface Phase {
  readonly stage: Stage;
  readonly timing: keyof Timings;
  readonly boundary: Boundary;
  readonly timeoutMs: number;
  readonly agentId?: string;
  readonly index?: number;
  /** Whether the episode's own clock bounds it too. */
  readonly inEpisodeClock: boolean;
}

/** Options of a client that takes answers of one instance only; without a known one, of any. */
export function expecting(options: ClientOptions, instance: string | undefined): ClientOptions {
  return instance === undefined ? options : { ...options, expectInstance: instance };
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
