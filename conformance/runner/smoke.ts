import type { CatalogueEntry } from "../catalogue/catalogue.js";
import { Finding, MissingFixture } from "../check/finding.js";
import { openTrial, type Trial } from "../check/trial.js";
import type { ConformanceFile } from "../fixture/conformance-file.js";
import type { Target } from "../subject/connection.js";
import { reach } from "../subject/reach.js";
import { wireLog } from "../subject/wire-log.js";
import type { Played, ProfileSuite, SubjectIdentity } from "./profile-suite.js";
import type { BlockingCause } from "./result.js";

/** Seconds, times the time scale, that the first calls may take. A watchdog. */
const smokeSeconds = 10;
const reachMs = 5_000;

/** What the smoke stage found: what the subject is, or why nothing can be said of it. */
export type Smoked =
  | { readonly described: unknown; readonly identity: SubjectIdentity; readonly blocked?: undefined }
  | {
      readonly identity?: SubjectIdentity | undefined;
      readonly blocked: { readonly cause: BlockingCause; readonly reason: string };
    };

/**
 * Reaches the subject, asks what it is, and uses it once as it must be usable, so that one trouble with the address, the
 * credential or the version is told once and not by every check.
 */
export async function smoke(options: {
  readonly suite: ProfileSuite;
  readonly target: Target;
  readonly file: ConformanceFile;
  readonly played: Played | undefined;
  readonly entry: CatalogueEntry;
  readonly prefix: string;
  readonly elapsed: () => number;
  readonly signal: AbortSignal;
  /** Only asks what it is: for the suite's own tests. */
  readonly describeOnly: boolean;
}): Promise<Smoked> {
  const { suite, target, file, entry, prefix, elapsed } = options;
  const unreachable = await reach(target, reachMs * file.time_scale);
  if (unreachable !== undefined) return { blocked: unreachable };
  const watchdog = new AbortController();
  const seconds = smokeSeconds * file.time_scale;
  const timer = setTimeout(() => watchdog.abort(), seconds * 1_000);
  const { trial, connections } = openTrial({
    entry,
    target,
    stack: "connect-node",
    signal: AbortSignal.any([options.signal, watchdog.signal]),
    log: wireLog(elapsed, Object.values(target.headers)),
    prefix,
    process: undefined,
    timeScale: file.time_scale,
    onSeen: () => undefined,
  });
  let identity: SubjectIdentity | undefined;
  try {
    const described = await suite.describe(trial);
    identity = suite.identity(described);
    const version = versionTrouble(identity);
    if (version !== undefined) return { identity, blocked: { cause: "version", reason: version } };
    if (!options.describeOnly)
      await suite.smoke(suite.trial(trial as Trial, file, described, options.played));
    return { described, identity };
  } catch (error) {
    if (watchdog.signal.aborted) {
      const reason = `not ready: ${target.url} speaks HTTP/2, and did not answer ${suite.profile}'s first calls within ${seconds} s (--time-scale raises it)`;
      return { identity, blocked: { cause: "smoke", reason } };
    }
    return { identity, blocked: blockedBy(error, suite) };
  } finally {
    clearTimeout(timer);
    for (const connection of connections) connection.cut();
  }
}

function versionTrouble({ contractVersion }: SubjectIdentity): string | undefined {
  return /^1\./.test(contractVersion)
    ? undefined
    : `this suite judges version 1 of the contract; the subject says ${JSON.stringify(contractVersion)} (service.contract_version)`;
}

function blockedBy(error: unknown, { profile }: ProfileSuite): { cause: BlockingCause; reason: string } {
  const told = error instanceof Error ? error.message : String(error);
  if (error instanceof MissingFixture) return { cause: "fixture", reason: told };
  if (!(error instanceof Finding)) return { cause: "smoke", reason: told };
  if (/UNAUTHENTICATED|PERMISSION_DENIED/.test(error.actual)) {
    return { cause: "auth", reason: `${told}: give the credential by --header, or in conformance.yaml` };
  }
  if (/UNIMPLEMENTED/.test(error.actual) && /Describe/.test(error.subject)) {
    return {
      cause: "version",
      reason: `it is a gRPC server, but not of this service of touchstone.v1 (${error.actual}): is profile ${profile} the right one, and the server of this package?`,
    };
  }
  return { cause: "smoke", reason: told };
}
