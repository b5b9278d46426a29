import type { EpisodeId, EpisodeOutcome, RunRequest, StageBegun } from "../../gen/index.js";

/** An episode that begins. */
export interface BegunEpisode {
  readonly episodeId: EpisodeId;
  readonly request: RunRequest;
  /** A header of the call that began it; undefined: it has none, or nobody calls. */
  readonly header: (name: string) => string | undefined;
}

/** Told of every episode of a server, for traces (off where a server has none). */
export interface EpisodeWatch {
  /** An episode asks for admission, or is ended after a restart. */
  begin(episode: BegunEpisode): WatchedEpisode;
}

/** An episode that is watched; it ends once, by `end` or `refused`. */
export interface WatchedEpisode {
  /** Metadata of every call that the episode makes: its place in a trace. */
  readonly headers: Readonly<Record<string, string>>;
  stage(begun: StageBegun): void;
  end(outcome: EpisodeOutcome): void;
  /** It was not admitted: nothing was begun. */
  refused(error: unknown): void;
}

/** Nobody watches. */
export const unwatched: WatchedEpisode = { headers: {}, stage() {}, end() {}, refused() {} };
