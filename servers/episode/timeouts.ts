import { create } from "@bufbuild/protobuf";
import type { Duration } from "@bufbuild/protobuf/wkt";
import { type EpisodeTimeouts, EpisodeTimeoutsSchema } from "../../gen/index.js";
import { fromMs, toMs } from "../runtime/duration.js";

/** Bounds of an episode's phases, in milliseconds; each set (EPI-E5-004). */
export interface PhaseTimeouts {
  readonly queueMs: number;
  readonly episodeMs: number;
  readonly seedMs: number;
  readonly openMs: number;
  readonly activationMs: number;
  readonly verificationMs: number;
  readonly cleanUpMs: number;
}

/** Names by which a configuration sets the bounds; a failure names the one that has passed (field-case-055). */
export const knobs: Readonly<Record<keyof PhaseTimeouts, string>> = {
  queueMs: "queue_timeout",
  episodeMs: "episode_timeout",
  seedMs: "seed_timeout",
  openMs: "open_timeout",
  activationMs: "activation_timeout",
  verificationMs: "verification_timeout",
  cleanUpMs: "cleanup_timeout",
};

const minute = 60_000;

/** Bounds that hold where neither configuration nor Run say anything. */
export const defaultPhaseTimeouts: PhaseTimeouts = {
  queueMs: 0,
  episodeMs: 60 * minute,
  seedMs: 5 * minute,
  openMs: 2 * minute,
  activationMs: 30 * minute,
  verificationMs: 10 * minute,
  cleanUpMs: 30_000,
};

/** The bounds of one episode: Run's, else the server's. */
export function timeoutsOf(asked: EpisodeTimeouts | undefined, own: PhaseTimeouts): PhaseTimeouts {
  const pick = (duration: Duration | undefined, ms: number): number =>
    duration === undefined ? ms : toMs(duration);
  return {
    queueMs: pick(asked?.queue, own.queueMs),
    episodeMs: pick(asked?.episode, own.episodeMs),
    seedMs: pick(asked?.seed, own.seedMs),
    openMs: pick(asked?.open, own.openMs),
    activationMs: pick(asked?.activation, own.activationMs),
    verificationMs: pick(asked?.verification, own.verificationMs),
    cleanUpMs: pick(asked?.cleanUp, own.cleanUpMs),
  };
}

/** The bounds as Describe tells them. */
export function describeTimeouts(own: PhaseTimeouts): EpisodeTimeouts {
  return create(EpisodeTimeoutsSchema, {
    queue: fromMs(own.queueMs),
    episode: fromMs(own.episodeMs),
    seed: fromMs(own.seedMs),
    open: fromMs(own.openMs),
    activation: fromMs(own.activationMs),
    verification: fromMs(own.verificationMs),
    cleanUp: fromMs(own.cleanUpMs),
  });
}
