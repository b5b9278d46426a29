import { EpisodeService, type EpisodeServiceDescribeResponse } from "../../../gen/index.js";
import { playCast } from "../../peers/cast.js";
import type { ProfileSuite } from "../../runner/profile-suite.js";
import { errorWatches } from "../shared/errors.js";
import { cleanUpChecks } from "./clean-up.js";
import { type EpisodeTrial, episodeTrial, type PlayedCast } from "./episode-trial.js";
import { failureChecks } from "./failures.js";
import { namesChecks } from "./names.js";
import { orderChecks } from "./order.js";
import { outcomeChecks } from "./outcome.js";
import { readerChecks } from "./readers.js";
import { timeoutChecks } from "./timeouts.js";

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
  ],
  watches: () => errorWatches,
  lacks: (file) =>
    file.episode === undefined
      ? "conformance.yaml has no `episode`: `episode: {}` will do for a server that reads TOUCHSTONE_ENVIRONMENT, _AGENT and _MODEL, see docs/certify.md"
      : undefined,
  async play(file): Promise<PlayedCast> {
    const { listen = {} } = file.episode ?? {};
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
  },
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
