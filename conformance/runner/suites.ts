import { agentSuite } from "../cases/agent-session/agent-suite.js";
import { environmentSuite } from "../cases/environment/environment-suite.js";
import { episodeSuite } from "../cases/episode/episode-suite.js";
import { modelSuite } from "../cases/model/model-suite.js";
import { transportSuite } from "../cases/transport/transport-suite.js";
import type { Profile } from "../catalogue/profile.js";
import type { ProfileSuite } from "./profile-suite.js";

/** Profiles that have cases. */
const suites: Readonly<Partial<Record<Profile, ProfileSuite<never, never>>>> = {
  environment: environmentSuite as ProfileSuite<never, never>,
  "agent-session": agentSuite as ProfileSuite<never, never>,
  model: modelSuite as ProfileSuite<never, never>,
  episode: episodeSuite as ProfileSuite<never, never>,
  transport: transportSuite as ProfileSuite<never, never>,
};

/** Profiles that can be run. */
export const runnableProfiles = Object.keys(suites) as Profile[];

/** The cases of a profile. */
export function suiteOf(profile: Profile): ProfileSuite {
  const suite = suites[profile];
  if (suite === undefined) {
    throw new Error(`profile ${profile} has no cases yet: one of ${runnableProfiles.join(", ")}`);
  }
  return suite as unknown as ProfileSuite;
}

/** Names of everything that judges in a profile: its checks and what watches them. */
export function judgesOf(
  profile: Profile,
): readonly { readonly id: string; readonly clause: string; readonly title: string }[] {
  const suite = suiteOf(profile);
  return [...suite.checks, ...suite.watches()];
}
