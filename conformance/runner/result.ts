import type { Profile } from "../catalogue/profile.js";
import type { CheckResult, Verdict } from "./verdict.js";

/** Whether the run says that the subject conforms. */
export type RunVerdict = "conformant" | "not-conformant" | "incomplete";

/** What kept a run from saying anything. */
export type BlockingCause = "auth" | "version" | "fixture" | "smoke" | "harness" | "subject";

/** How many clauses a run could, and did, judge. */
export interface Coverage {
  /** MUST clauses of the profile. */
  readonly catalogue: number;
  /** Of these, those that a stranger can observe. */
  readonly observable: number;
  /** Of these, those that apply to what the subject declares. */
  readonly applicable: number;
  /** Of these, those that at least one check judged. */
  readonly judged: number;
}

/** Everything that a run found: the one document of which reports are functions. */
export interface RunResult {
  /** Version of this document's form. */
  readonly schema: 1;
  readonly suite: { readonly version: string; readonly catalogueDigest: string };
  readonly profile: Profile;
  readonly subject: {
    readonly name: string;
    readonly version: string;
    readonly instanceId: string;
    readonly contractVersion: string;
    readonly features: readonly string[];
    /** How it was reached; secrets are not in it. */
    readonly target: string;
  };
  readonly fixtureDigest: string;
  /** Order of the checks follows from it. */
  readonly seed: string;
  readonly startedAt: string;
  /** Milliseconds. */
  readonly took: number;
  readonly verdict: RunVerdict;
  /** Why nothing can be said, in one line; empty: something can. */
  readonly blocked: { readonly cause: BlockingCause; readonly reason: string } | null;
  readonly coverage: Coverage;
  readonly counts: Readonly<Record<Verdict, number>>;
  readonly checks: readonly CheckResult[];
  /** What is wrong beside the clauses: sessions that could not be closed, stray rejections. */
  readonly findings: readonly { readonly check: string; readonly text: string }[];
}
