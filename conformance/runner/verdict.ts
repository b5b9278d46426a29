import { z } from "zod";

/**
 * How a check ended:
 * - `pass`, `fail`;
 * - `warn`: a SHOULD that does not hold;
 * - `not-applicable`: the subject does not declare what it is about;
 * - `not-testable`: a line of conformance.yaml that must be there is not: counts as failed;
 * - `needs-input`: an optional line is not there, or storms are not allowed: listed, not scored;
 * - `observed`: the contract leaves a choice: recorded, never scored;
 * - `inconclusive`: a race was lost;
 * - `could-not-run`: the subject could not be brought to where the question is asked;
 * - `harness-error`: the suite itself broke.
 */
export const verdicts = [
  "pass",
  "fail",
  "warn",
  "not-applicable",
  "not-testable",
  "needs-input",
  "observed",
  "inconclusive",
  "could-not-run",
  "harness-error",
] as const;

/** How a check ended. */
export type Verdict = (typeof verdicts)[number];

/** Verdicts that leave a run incomplete: it says nothing about the subject. */
export const incompleteVerdicts: ReadonlySet<Verdict> = new Set([
  "inconclusive",
  "could-not-run",
  "harness-error",
]);

const wireEventSchema = z.strictObject({
  at: z.number().describe("Milliseconds since the run began."),
  connection: z
    .int()
    .describe("Connection that it was seen on, numbered within the check; -1: of the clean-up."),
  call: z.string().describe("Call that it belongs to; empty: the connection."),
  kind: z.enum(["request", "headers", "message", "end", "note"]),
  text: z.string().describe("Its content, secrets taken out, cut where it is long."),
});

/** One check as it was judged. */
export const checkResultSchema = z.strictObject({
  check: z.string().describe("`ENV-STEP-017.by-action-id`"),
  clause: z.string().describe("`ENV-STEP-017`"),
  level: z.enum(["MUST", "SHOULD", "MAY"]),
  title: z.string(),
  stack: z
    .string()
    .describe("Client library that it ran on; all: a clause judged on everything that was seen."),
  verdict: z.enum(verdicts),
  subject: z.string().describe("What was judged; empty where nothing failed."),
  expected: z.string(),
  actual: z.string(),
  reason: z.string().describe("Why it did not run, or what broke."),
  observed: z.record(z.string(), z.string()).describe("What the contract leaves open, as seen."),
  wire: z.array(wireEventSchema).describe("The newest wire events of a check that did not pass."),
  took: z.number().describe("Milliseconds."),
});

/** One check as it was judged. */
export type CheckResult = z.infer<typeof checkResultSchema>;
