import type { EnvironmentServiceDescribeResponse } from "../../../gen/index.js";
import type { ProfileSuite } from "../../runner/profile-suite.js";
import { rawConnection } from "../../subject/raw-call.js";
import { environmentSuite } from "../environment/environment-suite.js";
import type { TransportTrial } from "./transport-trial.js";
import { wireChecks } from "./wire.js";

/** The transport profile, judged on an environment server: what is below the service is the same for all. */
export const transportSuite: ProfileSuite<TransportTrial, EnvironmentServiceDescribeResponse> = {
  ...environmentSuite,
  profile: "transport",
  checks: wireChecks,
  watches: () => [],
  trial: (trial, file, described, played) => ({
    ...environmentSuite.trial(trial, file, described, played),
    raw: () => rawConnection(trial.target, trial.signal),
  }),
};
