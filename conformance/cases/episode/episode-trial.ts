import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type EpisodeEvent,
  type EpisodeOutcome,
  EpisodeService,
  type EpisodeServiceDescribeResponse,
  type Failure,
  type RunRequest,
  RunRequestSchema,
  type Verdict,
} from "../../../gen/index.js";
import { checksOf } from "../../check/check.js";
import type { Trial } from "../../check/trial.js";
import type { EpisodeFixture } from "../../fixture/episode-fixture.js";
import type { Cast, Scene } from "../../peers/cast.js";
import { castNames } from "../../peers/scene-scripts.js";
import type { Played } from "../../runner/profile-suite.js";
import type { Connection } from "../../subject/connection.js";
import type { CallStatus } from "../../subject/reply.js";
import type { CallOptions, Feed, SubjectClient } from "../../subject/subject-client.js";

/** Calls of an episode server. */
export type EpisodeCalls = SubjectClient<typeof EpisodeService>;

/** The cast of a run. */
export interface PlayedCast extends Played {
  readonly cast: Cast;
}

/** How an episode went, as the reader of its Run saw it. */
export interface EpisodeEnd {
  readonly events: readonly EpisodeEvent[];
  readonly outcome: EpisodeOutcome | undefined;
  readonly verdict: Verdict | undefined;
  readonly failure: Failure | undefined;
  /** How the stream ended; undefined: OK. */
  readonly status: CallStatus | undefined;
}

/** An episode that runs. */
export interface RunningEpisode {
  readonly request: RunRequest;
  readonly feed: Feed<{ readonly event?: EpisodeEvent | undefined }>;
  readonly end: Promise<EpisodeEnd>;
}

type RunInit = Exclude<MessageInitShape<typeof RunRequestSchema>, RunRequest>;

/** What the checks of an episode server work with. */
export interface EpisodeTrial extends Trial {
  readonly fixture: EpisodeFixture;
  readonly described: EpisodeServiceDescribeResponse;
  readonly calls: EpisodeCalls;
  elsewhere(): EpisodeCalls;
  readonly cast: Cast;
  /** Begins the scene of a new episode. */
  scene(): Scene;
  /** The Run of a scene's episode; `init` changes it. */
  request(scene: Scene, init?: RunInit): RunRequest;
  /** Runs a scene's episode, and reads what comes as it comes. */
  begin(
    scene: Scene,
    init?: RunInit,
    options?: CallOptions & { readonly elsewhere?: boolean },
  ): RunningEpisode;
  /** Runs it to its end. */
  run(scene: Scene, init?: RunInit): Promise<EpisodeEnd>;
}

/** Defines a check of the episode profile. */
export const episodeCheck = checksOf<EpisodeTrial>("episode");

/** Seconds as a Duration. */
export const seconds = (value: number) => ({
  seconds: BigInt(Math.floor(value)),
  nanos: Math.round((value % 1) * 1e9),
});

/** Short bounds, so that what waits for one is quick. */
export const shortTimeouts = {
  seed: seconds(2),
  open: seconds(2),
  activation: seconds(2),
  verification: seconds(2),
  cleanUp: seconds(1),
} as const;

/** What a stream of events came to. */
export function endOf(
  messages: readonly { readonly event?: EpisodeEvent | undefined }[],
  status: CallStatus | undefined,
): EpisodeEnd {
  const events = messages.flatMap(({ event }) => (event === undefined ? [] : [event]));
  const last = events.at(-1)?.event;
  const outcome = last?.case === "outcome" ? last.value : undefined;
  const told = outcome?.outcome;
  return {
    events,
    outcome,
    verdict: told?.case === "verdict" ? told.value : undefined,
    failure: told?.case === "failure" ? told.value : undefined,
    status,
  };
}

/** Adds to a trial what episodes have. */
export function episodeTrial(
  trial: Trial,
  {
    fixture,
    described,
    played,
  }: {
    readonly fixture: EpisodeFixture;
    readonly described: EpisodeServiceDescribeResponse;
    readonly played: Played | undefined;
  },
): EpisodeTrial {
  if (played === undefined) throw new Error("the episode profile is played by the runner");
  const { cast } = played as PlayedCast;
  let first: Connection | undefined;
  const { bindings } = fixture;
  const made: EpisodeTrial = {
    ...trial,
    fixture,
    described,
    cast,
    get calls() {
      first ??= trial.connect();
      return first.client(EpisodeService);
    },
    elsewhere: () => trial.connect().client(EpisodeService),
    scene: () => cast.scene(trial.id("rollout")),
    request: (scene, init = {}) =>
      create(RunRequestSchema, {
        context: { episodeId: { rolloutId: scene.rolloutId } },
        source: {
          case: "task",
          value: { taskId: { id: "q1" }, environment: castNames.environment, publicJson: '{"q":1}' },
        },
        driver: fixture.driver,
        environment: bindings.environment,
        agents: [{ agentId: "agent", agent: bindings.agent, model: bindings.model }],
        timeouts: shortTimeouts,
        ...init,
      }),
    begin(scene, init, { elsewhere = false, ...options } = {}) {
      const request = made.request(scene, init);
      const feed = (elsewhere ? made.elsewhere() : made.calls).run(request, options);
      const end = feed.finish().then(({ messages, status }) => endOf(messages, status));
      end.catch(() => undefined);
      return { request, feed, end };
    },
    async run(scene, init) {
      const end = await made.begin(scene, init).end;
      trial.judge.that("the end of Run", end.outcome !== undefined, {
        expected: "an outcome, and OK",
        actual: end.status === undefined ? "no outcome" : `${end.status.code} ${end.status.message}`,
      });
      return end;
    },
  };
  return made;
}
