import { create } from "@bufbuild/protobuf";
import type { Duration } from "@bufbuild/protobuf/wkt";
import { type EpisodeTimeouts, EpisodeTimeoutsSchema } from "../../gen/index.js";
import { fromMs, toMs } from "../runtime/duration.js";
import { invalidField } from "../runtime/refusal.js";

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

/**
 * The bounds of one episode: Run's within the longest timeout that the server declares (ALL-LEASE-009), or that it is itself
 * configured with, else the server's. Throws INVALID_FIELD for one that is no bound.
 */
export function timeoutsOf(
  asked: EpisodeTimeouts | undefined,
  { own, longestMs }: { readonly own: PhaseTimeouts; readonly longestMs: number },
): PhaseTimeouts {
  const pick = (name: string, duration: Duration | undefined, ms: number): number => {
    if (duration === undefined) return ms;
    const picked = Math.min(toMs(duration), Math.max(longestMs, ms));
    // No wait at all for a place is a bound as well.
    if (picked > 0 || (picked === 0 && name === "queue")) return picked;
    throw invalidField(`timeouts.${name}`, `expected a duration above 0, found ${picked} ms`);
  };
  return {
    queueMs: pick("queue", asked?.queue, own.queueMs),
    episodeMs: pick("episode", asked?.episode, own.episodeMs),
    seedMs: pick("seed", asked?.seed, own.seedMs),
    openMs: pick("open", asked?.open, own.openMs),
    activationMs: pick("activation", asked?.activation, own.activationMs),
    verificationMs: pick("verification", asked?.verification, own.verificationMs),
    cleanUpMs: pick("clean_up", asked?.cleanUp, own.cleanUpMs),
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
