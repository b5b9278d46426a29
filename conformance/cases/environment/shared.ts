import { EnvironmentService } from "../../../gen/index.js";
import { describing, type SharedSubject } from "../shared/shared-subject.js";
import { type EnvironmentTrial, environmentCheck } from "./environment-trial.js";
import { seedOperation } from "./operations/seed.js";
import { stepOperation } from "./operations/step.js";
import { verifyOperation } from "./operations/verify.js";
import { environmentSessions } from "./sessions.js";

/** An environment, as the rules of every service see it. */
export const sharedEnvironment: SharedSubject<EnvironmentTrial> = {
  check: environmentCheck,
  ...describing(EnvironmentService),
  operations: [seedOperation, stepOperation, verifyOperation],
  sessions: environmentSessions,
};
