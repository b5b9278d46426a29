import { randomBytes } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import type { ClientOptions } from "../../clients/index.js";
import { keyHeader } from "../../clients/metadata.js";
import {
  type Endpoint,
  type EpisodeContext,
  type EpisodeId,
  type ResourceIntent,
  ResourceIntentSchema,
  type ResourceKind,
  type RunRequest,
  type Verdict,
} from "../../gen/index.js";
import type { Clock } from "../runtime/clock.js";
import { episodeKey } from "../runtime/identity.js";
import type { Logger } from "../runtime/log.js";
import { Renewals } from "../runtime/renewals.js";
import { AgentTurns } from "./agent-turns.js";
import type { BoundCast, Cast } from "./cast.js";
import type { CastDescribed, EpisodeDescribed } from "./cast-described.js";
import { CleanUpStack } from "./clean-up-stack.js";
import type { Episode } from "./define-driver.js";
import { EnvironmentTurns } from "./environment-turns.js";
import type { WatchedEpisode } from "./episode-watch.js";
import { firstInstance } from "./first-instance.js";
import { OutsideEpisode } from "./outside-play.js";
import { type EpisodeTold, Phases } from "./phases.js";
import { RelayedEpisode } from "./relayed-episode.js";
import type { PhaseTimeouts } from "./timeouts.js";
import type { Trajectory } from "./trajectory.js";

/** What one episode is made of. */
export interface EpisodeParts {
  readonly request: RunRequest;
  readonly episodeId: EpisodeId;
  readonly cast: Cast;
  readonly described: EpisodeDescribed;
  readonly timeouts: PhaseTimeouts;
  readonly clock: Clock;
  readonly log: Logger;
  readonly trajectory: Trajectory;
  readonly watched: WatchedEpisode;
  readonly tell: (event: EpisodeTold) => void;
  /** Aborts, with the failure as reason, when the episode must end without a verdict. */
  readonly abandon: AbortSignal;
  /** Aborts when the agents' turns must end and their work be verified. */
  readonly finish: AbortSignal;
  /** The reason that Stop gave; empty: it was not stopped. */
  readonly stopReason: () => string;
}

/** Metadata of all calls for an episode and its forks (ALL-SCOPE-004), with its place in a trace. */
export function episodeHeaders(
  { rolloutId }: EpisodeId,
  { headers }: WatchedEpisode,
): Readonly<Record<string, string>> {
  return { ...headers, [keyHeader]: rolloutId };
}

/**
 * One episode: the calls that a driver orders, with everything that must hold around them: bounds (E5), intents and
 * clean-up (E1, E2), renewals (E9), failures with their stage and causes (E6).
 */
export class EpisodeRun {
  readonly parts: EpisodeParts;
  readonly phases: Phases;
  readonly stack: CleanUpStack;
  readonly renewals: Renewals;
  readonly agents: AgentTurns;
  readonly environment: EnvironmentTurns;
  /** The episode as another server plays it; undefined: it is played here. */
  relayed: RelayedEpisode | undefined;
  /** The episode as something plays it that does not speak the contract. */
  outside: OutsideEpisode | undefined;
  /** What was asked and is not enforced. */
  readonly unenforced: string[] = [];

  constructor(parts: EpisodeParts) {
    this.parts = parts;
    const { clock, log, timeouts, abandon, tell } = parts;
    this.phases = new Phases({ clock, timeouts, tell, abandon });
    this.stack = new CleanUpStack({
      clock,
      log,
      timeoutMs: timeouts.cleanUpMs,
      onIntent: (intent) => tell({ case: "resourceIntent", value: intent }),
      onReleased: (intent) => tell(released(intent)),
    });
    this.renewals = new Renewals(clock);
    this.agents = new AgentTurns(this);
    this.environment = new EnvironmentTurns(this);
  }

  /** Runs the driver to its verdict. */
  async run(): Promise<Verdict> {
    const episode: Episode = {
      seed: () => this.environment.seed(),
      openAgent: (view, options) => this.agents.open(view, options),
      step: (actions) => this.environment.step(actions),
      verifyStage: () => this.environment.verifyStage(),
      advance: () => this.environment.advance(),
      verify: () => this.environment.verify(),
      relay: (options) => {
        this.relayed = new RelayedEpisode(this, options);
        return this.relayed.run();
      },
      playOutside: (play) => {
        this.outside = new OutsideEpisode(this);
        return this.outside.run(play);
      },
    };
    const { driver, options } = this.parts.cast;
    return await driver.run(episode, options);
  }

  /** Who is bound here and what they say of themselves. Throws for an episode that is played elsewhere. */
  get bound(): BoundCast & { readonly described: CastDescribed } {
    const { cast, described } = this.parts;
    if (cast.bound !== undefined && described.bound !== undefined) {
      return { ...cast.bound, described: described.bound };
    }
    throw new Error(`driver ${cast.driver.name} has its episodes played elsewhere: nobody is bound here`);
  }

  /** Tells an event. */
  tell(event: EpisodeTold): void {
    this.parts.tell(event);
  }

  /** The context for creating calls. */
  get context(): { readonly context?: EpisodeContext } {
    const { context } = this.parts.request;
    return context === undefined ? {} : { context };
  }

  /** Options of clients for this episode. */
  get clientOptions(): ClientOptions {
    return { headers: episodeHeaders(this.parts.episodeId, this.parts.watched) };
  }

  /**
   * Options of a client for what follows a creating call: it takes the answers of the instance that made the resource
   * only, or, where that sent it elsewhere, of the one that answers there first (EPI-E6-011).
   */
  following(made: {
    readonly instance: string | undefined;
    readonly endpoint: Endpoint | undefined;
  }): ClientOptions {
    const options = this.clientOptions;
    const { instance, endpoint } = made;
    if (endpoint !== undefined) return { ...options, onInstance: firstInstance() };
    return instance === undefined ? options : { ...options, expectInstance: instance };
  }

  /** A new id under this episode, with 128 random bits (ALL-ID-007). */
  newId(letter: string): string {
    return `${episodeKey(this.parts.episodeId)}.${letter}${randomBytes(16).toString("base64url")}`;
  }

  /** An intent of this episode. */
  intent(of: { kind: ResourceKind; binding: string; id: string; agentId?: string }): ResourceIntent {
    return create(ResourceIntentSchema, { ...of, episodeId: this.parts.episodeId });
  }
}

/** The event of a release that was confirmed (EPI-E1-005). */
export function released({ kind, binding, id }: ResourceIntent): EpisodeTold {
  const value = { $typeName: "touchstone.v1.ResourceReleased", kind, binding, id } as const;
  return { case: "resourceReleased", value };
}
