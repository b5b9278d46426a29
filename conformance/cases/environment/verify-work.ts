import { clone, create } from "@bufbuild/protobuf";
import {
  type AgentSubmission,
  Feature,
  type SampleWork,
  type Submission,
  SubmissionSchema,
  type Verdict,
} from "../../../gen/index.js";
import type { EnvironmentTrial, OpenSession, VerifyInit } from "./environment-trial.js";
import { closeEnough } from "./step-work.js";

/** The fixture's good or bad work. */
export function workOf(t: EnvironmentTrial, which: "good" | "bad"): SampleWork {
  return t.must(t.fixture.sample[which], `environment.sample.${which}`);
}

/** Plays the work's steps, where there are steps. */
export async function played(t: EnvironmentTrial, work: SampleWork): Promise<OpenSession> {
  const session = await t.open();
  if (t.has(Feature.STEP)) await session.play(work);
  return session;
}

/** The verdict of a submission; no verdict is a finding. */
export async function verdictOf(
  t: EnvironmentTrial,
  session: OpenSession,
  index: number,
  init: VerifyInit,
): Promise<Verdict> {
  const { outcome } = t.result(`Verify ${index}`, await session.verify(index, init));
  t.judge.that(`the outcome of Verify ${index}`, outcome.case === "verdict", {
    expected: "a verdict",
    actual: outcome.value,
  });
  if (outcome.case !== "verdict") throw new Error("a verdict that was judged to be there is not");
  return outcome.value;
}

/** Judges the reward of a verdict, within what doubles lose. */
export function near(t: EnvironmentTrial, what: string, verdict: Verdict, expected: number): void {
  const value = verdict.reward?.value;
  t.judge.that(what, value !== undefined && Math.abs(value - expected) <= closeEnough, {
    expected: String(expected),
    actual: value ?? "no reward",
  });
}

/** Reward of no work: 0 where it is in range. */
export function noWork(t: EnvironmentTrial): number {
  const { minimum = 0, maximum = 0 } = t.described.declarations?.reward ?? {};
  return Math.min(Math.max(0, minimum), maximum);
}

/** The submission of an agent that handed in nothing. */
export const nothing = (submission: Submission | undefined): Submission =>
  create(SubmissionSchema, { agents: (submission?.agents ?? []).map(({ agentId }) => ({ agentId })) });

/** A copy of a submission, each agent's part changed. */
export function changed(
  submission: Submission | undefined,
  change: (agent: AgentSubmission) => void,
): Submission {
  const copy = submission === undefined ? create(SubmissionSchema) : clone(SubmissionSchema, submission);
  for (const agent of copy.agents) change(agent);
  return copy;
}

/** The bytes with one bit of them turned. */
export function flipped(bytes: Uint8Array, at: number): Uint8Array {
  return bytes.map((byte, index) => (index === at ? byte ^ 0x10 : byte));
}
