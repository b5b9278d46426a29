import { EnvironmentService } from "../../../gen/index.js";
import { milliseconds } from "../shared/durations.js";
import type { SharedSubject } from "../shared/shared-subject.js";
import { type EnvironmentTrial, environmentCheck } from "./environment-trial.js";
import { seedOperation } from "./operations/seed.js";
import { stepOperation } from "./operations/step.js";
import { verifyOperation } from "./operations/verify.js";
import { environmentSessions } from "./sessions.js";

/** An environment, as the rules of every service see it. */
export const sharedEnvironment: SharedSubject<EnvironmentTrial> = {
  check: environmentCheck,
  service: EnvironmentService,
  operations: [seedOperation, stepOperation, verifyOperation],
  sessions: environmentSessions,
  describe(t, { elsewhere, bare, ...options } = {}) {
    if (bare === true) return t.connect().bare(EnvironmentService).describe({}, options);
    return (elsewhere === true ? t.elsewhere() : t.calls).describe({}, options);
  },
  timeouts(t) {
    const bounds = t.described.service?.limits?.timeout;
    return { minimum: milliseconds(bounds?.minimum), maximum: milliseconds(bounds?.maximum) };
  },
};
