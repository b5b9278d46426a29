import type { EpisodeEvent, EpisodeOutcome, ReadTrajectoryResponse } from "../../gen/index.js";

/**
 * What one episode writes down as it goes; what was told to a reader has been written before, where it can be. Nothing here
 * throws: an episode goes on though it cannot be written down.
 */
export interface EpisodeJournal {
  event(event: EpisodeEvent): void;
  /** A record of the trajectory. */
  recorded(record: ReadTrajectoryResponse): void;
  /** It has its score; the outcome is whole but for the clean-ups, which are still to come. */
  scored(outcome: () => EpisodeOutcome): void;
  /** It has ended; its last event tells the outcome. */
  ended(last: EpisodeEvent): void;
  /** Its caller has stored the outcome. */
  acked(): void;
}

/** Nothing is written down: the episode lives as long as the process. */
export const noJournal: EpisodeJournal = {
  event() {},
  recorded() {},
  scored() {},
  ended() {},
  acked() {},
};
