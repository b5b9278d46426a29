import { createHash } from "node:crypto";
import { z } from "zod";
import type { Catalogue } from "../catalogue/catalogue.js";
import { profiles } from "../catalogue/profile.js";
import type { RunResult } from "../runner/result.js";
import { verdicts } from "../runner/verdict.js";

const scoredSchema = z.strictObject({
  check: z.string(),
  clause: z.string(),
  stack: z.string(),
  verdict: z.enum(verdicts),
});

/** A certificate: that a subject conforms, by which text it was judged, and each scored verdict. */
export const certificateSchema = z.strictObject({
  schema: z.literal(1),
  certificate: z.literal("touchstone"),
  suite: z.strictObject({ version: z.string(), catalogueDigest: z.string() }),
  /** The frozen set of checks that it is scored by. */
  set: z.strictObject({ name: z.string(), digest: z.string() }),
  profile: z.enum(profiles),
  subject: z.strictObject({
    name: z.string(),
    version: z.string(),
    contractVersion: z.string(),
    features: z.array(z.string()),
  }),
  fixtureDigest: z.string(),
  seed: z.string(),
  judgedAt: z.string(),
  /** MUST clauses that apply, and those of them that were judged. */
  coverage: z.strictObject({ applicable: z.int(), judged: z.int() }),
  /** Every scored check's verdict. */
  checks: z.array(scoredSchema),
  /** sha256 over everything above: a certificate that was edited is told. */
  digest: z.string(),
});

/** That a subject conforms. */
export type Certificate = z.infer<typeof certificateSchema>;

/** The checks by which certificates are scored, frozen under a name. */
export interface CheckSet {
  /** `2026-12` */
  readonly name: string;
  /** Ids of its checks in a profile. */
  checksOf(profile: RunResult["profile"]): ReadonlySet<string>;
  /** sha256 over the file. */
  readonly digest: string;
  /** No certificate by it is valid any more. */
  readonly retired: boolean;
}

/** Why a run earns no certificate; empty: it does. */
export function certificateFaults(result: RunResult, set: CheckSet): string[] {
  const faults: string[] = [];
  if (result.verdict !== "conformant") faults.push(`the run is ${result.verdict}`);
  if (result.patterns.length > 0) faults.push("only some checks were run (patterns were given)");
  if (result.excused.length > 0) faults.push("known failures were excused");
  if (set.retired) faults.push(`set ${set.name} is retired`);
  const ran = new Set(result.checks.map(({ check }) => check));
  const absent = [...set.checksOf(result.profile)].filter((check) => !ran.has(check));
  if (absent.length > 0)
    faults.push(
      `${absent.length} checks of set ${set.name} are not in the run: ${absent.slice(0, 3).join(", ")}`,
    );
  if (result.findings.length > 0) faults.push(`${result.findings.length} things were left behind`);
  return faults;
}

/** The certificate of a run that earned one (`certificateFaults` is empty). */
export function certificateOf(result: RunResult, set: CheckSet): Certificate {
  const scored = set.checksOf(result.profile);
  const { name, version, contractVersion, features } = result.subject;
  const body = {
    schema: 1 as const,
    certificate: "touchstone" as const,
    suite: result.suite,
    set: { name: set.name, digest: set.digest },
    profile: result.profile,
    subject: { name, version, contractVersion, features },
    fixtureDigest: result.fixtureDigest,
    seed: result.seed,
    judgedAt: result.startedAt,
    coverage: { applicable: result.coverage.applicable, judged: result.coverage.judged },
    checks: result.checks
      .filter(({ check }) => scored.has(check))
      .map(({ check, clause, stack, verdict }) => ({ check, clause, stack, verdict })),
  };
  return { ...body, digest: digestOf(body) };
}

/** Why a certificate is not valid, judged offline by this suite; empty: it is. */
export function verifyCertificate(
  certificate: Certificate,
  { catalogue, set }: { readonly catalogue: Catalogue; readonly set: CheckSet | undefined },
): string[] {
  const { digest, ...body } = certificate;
  const faults: string[] = [];
  if (digestOf(body) !== digest) faults.push("its digest does not fit its content: it was changed");
  if (set === undefined) faults.push(`set ${certificate.set.name} is not one of this suite`);
  else {
    if (set.digest !== certificate.set.digest)
      faults.push(`set ${set.name} has other checks than it had then`);
    if (set.retired) faults.push(`set ${set.name} is retired`);
    const held = new Set(certificate.checks.map(({ check }) => check));
    const absent = [...set.checksOf(certificate.profile)].filter((check) => !held.has(check));
    if (absent.length > 0)
      faults.push(`it lacks ${absent.length} checks of its set: ${absent.slice(0, 3).join(", ")}`);
  }
  if (catalogue.digest !== certificate.suite.catalogueDigest) {
    faults.push("the contract's clauses, or what the suite knows of them, have changed since");
  }
  const bad = certificate.checks.filter(
    ({ verdict }) =>
      verdict !== "pass" &&
      verdict !== "not-applicable" &&
      verdict !== "needs-input" &&
      verdict !== "warn" &&
      verdict !== "observed",
  );
  if (bad.length > 0)
    faults.push(`it holds checks that did not pass: ${bad[0]?.check} is ${bad[0]?.verdict}`);
  if (!certificate.checks.some(({ verdict }) => verdict === "pass")) faults.push("nothing in it passed");
  return faults;
}

function digestOf(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex");
}
