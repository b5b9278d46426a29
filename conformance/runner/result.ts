import { z } from "zod";
import { profiles } from "../catalogue/profile.js";
import { checkResultSchema, type Verdict, verdicts } from "./verdict.js";

const counts = Object.fromEntries(verdicts.map((verdict) => [verdict, z.int()])) as Record<Verdict, z.ZodInt>;

/** What kept a run from saying anything. */
export const blockingCauses = ["auth", "version", "fixture", "smoke", "harness", "subject"] as const;

/** What kept a run from saying anything. */
export type BlockingCause = (typeof blockingCauses)[number];

/** Everything that a run found: the one document of which reports are functions. */
export const runResultSchema = z
  .strictObject({
    schema: z.literal(1).describe("Version of this document's form."),
    suite: z.strictObject({
      version: z.string(),
      catalogueDigest: z.string().describe("sha256 over all clauses and what the suite knows of them."),
    }),
    profile: z.enum(profiles),
    subject: z.strictObject({
      name: z.string(),
      version: z.string(),
      instanceId: z.string(),
      contractVersion: z.string(),
      features: z.array(z.string()),
      target: z.string().describe("How it was reached; secrets are not in it."),
    }),
    fixtureDigest: z.string(),
    seed: z.string().describe("The order of the checks follows from it."),
    patterns: z.array(z.string()).describe("Of the checks that were chosen; empty: all."),
    startedAt: z.iso.datetime(),
    took: z.number().describe("Milliseconds."),
    verdict: z.enum(["conformant", "not-conformant", "incomplete"]),
    excused: z.array(z.string()).describe("Checks that conformance.yaml says are known to fail."),
    blocked: z
      .strictObject({ cause: z.enum(blockingCauses), reason: z.string() })
      .nullable()
      .describe("Why nothing can be said, in one line; null: something can."),
    coverage: z
      .strictObject({
        catalogue: z.int().describe("MUST clauses of the profile."),
        observable: z.int().describe("Of these, those that a stranger can observe."),
        applicable: z.int().describe("Of these, those that apply to what the subject declares."),
        judged: z.int().describe("Of these, those that at least one check judged."),
        missing: z
          .array(z.strictObject({ clause: z.string(), opens: z.string() }))
          .describe("Those that apply and were not judged, each with what would open it."),
      })
      .describe("How many clauses the run could, and did, judge."),
    counts: z.strictObject(counts),
    checks: z.array(checkResultSchema),
    findings: z
      .array(z.strictObject({ check: z.string(), text: z.string() }))
      .describe("What is wrong beside the clauses: sessions that could not be closed, stray rejections."),
  })
  .describe("Result of a run of the Touchstone conformance suite.");

/** Everything that a run found. */
export type RunResult = z.infer<typeof runResultSchema>;
/** Whether the run says that the subject conforms. */
export type RunVerdict = RunResult["verdict"];
/** How many clauses a run could, and did, judge. */
export type Coverage = RunResult["coverage"];
