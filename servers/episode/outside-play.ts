import { create } from "@bufbuild/protobuf";
import {
  type Artifact,
  Boundary,
  FailureKind,
  ProvenanceSchema,
  ResourceKind,
  Retry,
  RewardAuthority,
  Stage,
  type Verdict,
} from "../../gen/index.js";
import { cancelledFailure, OperationFailure } from "../runtime/failure.js";
import { episodeKey } from "../runtime/identity.js";
import { checkVerdict, type DeclaredRange } from "./check-verdict.js";
import type { OutsidePlay } from "./define-driver.js";
import type { EpisodeRun } from "./episode-run.js";
import { unlessAborted } from "./unless-aborted.js";

/** What came of an episode that something played which does not speak the contract. */
export interface Played {
  readonly verdict: Verdict;
  /** Range that its rewards must be in; absent: any finite number. */
  readonly range?: DeclaredRange;
  /** What it handed over beside, such as its whole answer. */
  readonly artifacts?: readonly Artifact[];
}

/** An episode that something plays which does not speak the contract. */
export class OutsideEpisode {
  artifacts: readonly Artifact[] = [];
  #answered = false;

  constructor(private readonly episode: EpisodeRun) {}

  /** Has it played, within the episode's time; its verdict is somebody else's (EPI-DRV-005). */
  async run(play: (what: OutsidePlay) => Promise<Played>): Promise<Verdict> {
    const { episode } = this;
    const { episodeId, request, finish, cast, trajectory, watched } = episode.parts;
    const { headers } = watched;
    this.#own(cast.driver.name);
    trajectory.miss("what was said and done is known only to what played the episode");
    const played = await episode.phases.run(
      {
        stage: Stage.ACTIVATE,
        timing: "activate",
        boundary: Boundary.EPISODE,
        bound: "episodeMs",
        inEpisodeClock: true,
      },
      async ({ signal = new AbortController().signal }) => {
        const wanted = AbortSignal.any([signal, finish]);
        try {
          return await unlessAborted(play({ episodeId, request, headers, signal: wanted }), wanted);
        } catch (error) {
          // EPI-STOP-003 cannot be had here: nobody else can be told to come to an end.
          if (finish.aborted && !signal.aborted) throw cancelledFailure(unfinishable);
          throw error;
        }
      },
    );
    this.#answered = true;
    this.artifacts = played.artifacts ?? [];
    checkVerdict(played.verdict, played.range);
    return external(played.verdict);
  }

  /** What plays may go on when nobody waits for it any more, and cannot be told to end: then that is said. */
  #own(binding: string): void {
    const { episode } = this;
    episode.stack.own({
      intent: episode.intent({
        kind: ResourceKind.EPISODE,
        binding,
        id: episodeKey(episode.parts.episodeId),
      }),
      boundary: Boundary.EPISODE,
      release: async () => {
        if (this.#answered) return undefined;
        throw new OperationFailure({
          kind: FailureKind.UNAVAILABLE,
          retry: Retry.NEVER,
          reason: "what played the episode cannot be told to end; it may still run",
        });
      },
    });
  }
}

const unfinishable = "the episode was stopped, and what played it cannot be told to end its turn";

/** The verdict, said to be somebody else's. */
export function external(verdict: Verdict): Verdict {
  verdict.provenance ??= create(ProvenanceSchema);
  verdict.provenance.authority = RewardAuthority.EXTERNAL;
  return verdict;
}
