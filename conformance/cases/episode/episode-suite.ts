import { EpisodeService, type EpisodeServiceDescribeResponse } from "../../../gen/index.js";
import type { ConformanceFile } from "../../fixture/conformance-file.js";
import { playCast } from "../../peers/cast.js";
import type { ProfileSuite } from "../../runner/profile-suite.js";
import { errorWatches } from "../shared/errors.js";
import { sharedChecks } from "../shared/index.js";
import { describing, type SharedSubject } from "../shared/shared-subject.js";
import { cleanUpChecks } from "./clean-up.js";
import { type EpisodeTrial, episodeCheck, episodeTrial, type PlayedCast } from "./episode-trial.js";
import { failureChecks } from "./failures.js";
import { namesChecks } from "./names.js";
import { orderChecks } from "./order.js";
import { outcomeChecks } from "./outcome.js";
import { readerChecks } from "./readers.js";
import { runOperation } from "./run-operation.js";
import { timeoutChecks } from "./timeouts.js";

/** An episode server, as the rules of every service see it. */
const sharedEpisodes: SharedSubject<EpisodeTrial> = {
  check: episodeCheck,
  ...describing(EpisodeService),
  operations: [runOperation],
  // Episodes have no Close and no lease: they end by themselves, by Stop, or with their last reader.
  sessions: undefined,
};

/** Begins to play what an episode server calls. */
export async function playEpisodes({ episode }: ConformanceFile): Promise<PlayedCast> {
  const { listen = {} } = episode ?? {};
  const given = Object.fromEntries(Object.entries(listen).filter(([, place]) => place !== undefined));
  const cast = await playCast(given);
  return {
    cast,
    env: {
      TOUCHSTONE_ENVIRONMENT: cast.urls.environment,
      TOUCHSTONE_AGENT: cast.urls.agent,
      TOUCHSTONE_MODEL: cast.urls.model,
    },
    [Symbol.asyncDispose]: () => cast[Symbol.asyncDispose](),
  };
}

/** The episode profile: the runner plays environment, agent and model, with their faults. */
export const episodeSuite: ProfileSuite<EpisodeTrial, EpisodeServiceDescribeResponse> = {
  profile: "episode",
  probePath: `/${EpisodeService.typeName}/${EpisodeService.method.describe.name}`,
  checks: [
    ...orderChecks,
    ...namesChecks,
    ...cleanUpChecks,
    ...failureChecks,
    ...timeoutChecks,
    ...readerChecks,
    ...outcomeChecks,
    ...sharedChecks(sharedEpisodes),
  ],
  watches: () => errorWatches("episode"),
  lacks: (file) =>
    file.episode === undefined
      ? "conformance.yaml has no `episode`: `episode: {}` will do for a server that reads TOUCHSTONE_ENVIRONMENT, _AGENT and _MODEL, see docs/certify.md"
      : undefined,
  play: playEpisodes,
  async describe(trial) {
    const reply = await trial.connect().client(EpisodeService).describe({});
    return trial.judge.answer("EpisodeService.Describe", reply);
  },
  async smoke(t) {
    const { verdict, failure } = await t.run(t.scene());
    t.judge.that("the first episode", verdict !== undefined, {
      expected: "a verdict",
      actual: failure === undefined ? "neither verdict nor failure" : failure.reason,
    });
  },
  identity: ({ service, drivers }) => ({
    name: service?.implementation?.name ?? "",
    version: service?.implementation?.version ?? "",
    instanceId: service?.instanceId ?? "",
    contractVersion: service?.contractVersion ?? "",
    features: new Set(service?.features),
    circumstances: new Set(drivers),
  }),
  trial: (trial, file, described, played) =>
    episodeTrial(trial, { fixture: trial.must(file.episode, "episode"), described, played }),
  // An episode ends by itself; what a check left running is stopped by its reader's leaving (orphan_grace).
  cleanUp: () => undefined,
};
