import { create } from "@bufbuild/protobuf";
import { FailureKind, type Submission, type VerifyResult, VerifyResultSchema } from "../../../gen/index.js";
import { checkAnswerSize } from "../../runtime/answer-size.js";
import type { EnvironmentContext } from "../environment-context.js";
import type { EnvironmentSession } from "../environment-session.js";
import { verdictOf } from "./verdict.js";
import { workOf } from "./work.js";

/** What is scored, and for whom. */
export interface Scoring {
  readonly submission: Submission | undefined;
  /** Steps that were taken. */
  readonly steps: number;
  readonly signal: AbortSignal;
  readonly answerId: string;
  /** Bytes that the answer may have. */
  readonly maxBytes: number;
}

/** What the event around a result adds to it, at most. */
const eventBytes = 64;

/** Scores the work of a session by its author's `verify`. Throws what is no verdict (R8). */
export async function score<Data, State>(
  context: EnvironmentContext<Data, State>,
  session: EnvironmentSession<Data, State>,
  { submission, steps, signal, answerId, maxBytes }: Scoring,
): Promise<VerifyResult> {
  const measured = await context.definition.verify(workOf(session, { submission, steps, signal }));
  const verdict = verdictOf(context, measured, session);
  const result = create(VerifyResultSchema, { answerId, outcome: { case: "verdict", value: verdict } });
  checkAnswerSize(VerifyResultSchema, result, {
    limit: maxBytes - eventBytes,
    kind: FailureKind.VERIFIER_FAILED,
  });
  return result;
}
