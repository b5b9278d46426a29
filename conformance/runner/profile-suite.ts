import type { Feature } from "../../gen/index.js";
import type { Profile } from "../catalogue/profile.js";
import type { Check } from "../check/check.js";
import type { Trial } from "../check/trial.js";
import type { Watch } from "../check/watch.js";
import type { ConformanceFile } from "../fixture/conformance-file.js";
import type { Connection } from "../subject/connection.js";

/** What the subject says of itself, for the report and for the choice of checks. */
export interface SubjectIdentity {
  readonly name: string;
  readonly version: string;
  readonly instanceId: string;
  readonly contractVersion: string;
  readonly features: ReadonlySet<Feature>;
  /** What else conditions of clauses speak of and Describe tells: `sandboxed`, a driver's name. */
  readonly circumstances: ReadonlySet<string>;
}

/** How to close what a request may have opened. */
export interface CleanUp {
  /** What it is; several requests may have opened the same, one of which then closes it. */
  readonly key: string;
  /** Closes it; what it says is the finding, undefined: all is well. */
  close(connection: Connection): Promise<string | undefined>;
}

/** What the runner plays towards a subject that calls others; it is there before the subject starts. */
export interface Played extends AsyncDisposable {
  /** Variables that tell a subject where the parts are, where the runner starts it. */
  readonly env: Readonly<Record<string, string>>;
}

/** Everything particular to a profile. `T` is what its checks work with, `D` what Describe answered. */
export interface ProfileSuite<T = unknown, D = unknown> {
  readonly profile: Profile;
  readonly checks: readonly Check<T>[];
  /** Clauses about everything that the checks see; without Describe's answer and the file: for their names only. */
  watches(described?: D, file?: ConformanceFile): readonly Watch[];
  /** Path of an rpc that needs nothing, to see whether the subject speaks more than gRPC (`web`). */
  readonly probePath: string;
  /** Asks the subject what it is. Throws a `Finding` where it does not answer as it must. */
  describe(trial: Trial): Promise<D>;
  /** One valid use of it, so that a subject that cannot do this is not failed two hundred times. */
  smoke(t: T): Promise<void>;
  identity(described: D): SubjectIdentity;
  /** What conformance.yaml lacks altogether; undefined: it has this profile's part. */
  lacks(file: ConformanceFile): string | undefined;
  /** Begins to play what the subject calls; absent: it calls nobody, or each check plays for itself. */
  play?(file: ConformanceFile): Promise<Played>;
  /** Adds to a trial what the profile's checks need. */
  trial(trial: Trial, file: ConformanceFile, described: D, played: Played | undefined): T;
  /** How to close what this request opens; undefined: it opens nothing. */
  cleanUp(request: object): CleanUp | undefined;
}
