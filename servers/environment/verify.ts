import { create, toBinary } from "@bufbuild/protobuf";
import {
  FailureKind,
  Retry,
  RewardAuthority,
  Stage,
  SubmissionSchema,
  type Verdict,
  VerdictSchema,
  VerifyIsolation,
  type VerifyRequest,
  VerifyRequestSchema,
  type VerifyResponse,
  VerifyResponseSchema,
  type VerifyResult,
  VerifyResultSchema,
} from "../../gen/index.js";
import { checkAnswerSize } from "../runtime/answer-size.js";
import { clamp, fromMs } from "../runtime/duration.js";
import { EventLog } from "../runtime/event-log.js";
import { OperationFailure } from "../runtime/failure.js";
import { fingerprint } from "../runtime/fingerprint.js";
import { lastAnswer } from "../runtime/items.js";
import type { Delivered } from "../runtime/ledger.js";
import { Refusal, unsupported } from "../runtime/refusal.js";
import { checkedReward } from "../runtime/reward.js";
import type { Runtime } from "../runtime/runtime.js";
import type { SessionRun } from "../runtime/session-work.js";
import type { Sessions } from "../runtime/sessions.js";
import type { EnvironmentDefinition, Measured } from "./define-environment.js";
import { type EnvironmentSession, worldOf } from "./environment-session.js";
import { checkSubmission, ofAgent } from "./submission.js";

/** What Verify works with. */
export interface VerifyContext<Data, State> {
  readonly runtime: Runtime;
  readonly definition: EnvironmentDefinition<Data, State>;
  readonly sessions: Sessions<EnvironmentSession<Data, State>>;
}

/** Scores a submission, or finds the operation that did. Its events are those of the operation. */
export function verify<Data, State>(
  { runtime, definition, sessions }: VerifyContext<Data, State>,
  request: VerifyRequest,
): Delivered<VerifyResult> {
  if (request.target.case !== "session") throw unsupported("STATELESS_VERIFY", "Verify without a session");
  const { sessionId, verificationIndex, final, verifierState } = request.target.value;
  checkSubmission(request.submission, definition.answerBlocks);
  const known = sessions.known(sessionId);
  // ENV-SLVR-003: sessions of this server have no state to give out, so any that comes is another's.
  if (verifierState.length > 0) {
    throw new Refusal("VERIFIER_STATE_INVALID", "verifier_state is not one that this session was given");
  }
  const { timeout: bounds } = runtime.limits;
  const timeoutMs =
    request.timeout === undefined
      ? (known.state?.verifyTimeoutMs ?? bounds.defaultMs)
      : clamp(request.timeout, bounds);
  return sessions.operate<VerifyResult>(sessionId, {
    kind: "verification",
    name: `verify:${verificationIndex}`,
    index: verificationIndex,
    fingerprint: fingerprint(VerifyRequestSchema, request),
    timeoutMs,
    context: { stage: Stage.VERIFY },
    harmless: true,
    events: () => new EventLog<VerifyResponse>((event) => toBinary(VerifyResponseSchema, event).length),
    check({ state }) {
      // ENV-VRFY-018
      if (state?.verified)
        throw new Refusal("EPISODE_ENDED", "the final verification is done: nothing is verified any more");
    },
    async run(run) {
      events(run).append(
        create(VerifyResponseSchema, {
          event: { case: "accepted", value: { timeout: fromMs(timeoutMs) } },
        }),
      );
      const { state } = run;
      if (final) {
        // ENV-FENC-001: from here on nothing is stepped.
        state.fenced = true;
        state.ended = true;
      }
      if (state.fenced) state.submitted ??= request.submission ?? create(SubmissionSchema);
      const verdict = await measure(
        definition,
        state.fenced ? { ...request, submission: state.submitted } : request,
        run,
      );
      const result = create(VerifyResultSchema, {
        answerId: run.answerId,
        outcome: { case: "verdict", value: verdict },
      });
      checkAnswerSize(VerifyResultSchema, result, {
        limit: runtime.limits.maxMessageBytes,
        kind: FailureKind.VERIFIER_FAILED,
      });
      return result;
    },
    onEnd(outcome, run) {
      const result = outcome.ok
        ? outcome.answer
        : create(VerifyResultSchema, {
            answerId: run.answerId,
            outcome: { case: "failure", value: outcome.error.failure },
          });
      const again = !outcome.ok && outcome.error.failure.retry === Retry.NEXT_INDEX;
      if (run.state.fenced && !again) run.state.verified = true;
      events(run).end(create(VerifyResponseSchema, { event: { case: "result", value: result } }));
    },
  });
}

type VerifyRun<Data, State> = SessionRun<EnvironmentSession<Data, State>, VerifyResult>;

/** The events of a verification. */
function events<Data, State>(run: VerifyRun<Data, State>): EventLog<VerifyResponse> {
  return run.operation.events as EventLog<VerifyResponse>;
}

async function measure<Data, State>(
  definition: EnvironmentDefinition<Data, State>,
  request: VerifyRequest,
  run: VerifyRun<Data, State>,
): Promise<Verdict> {
  const { state } = run;
  const world = worldOf(state);
  const handedIn = ofAgent(request.submission);
  const measured = await definition.verify({
    data: world.data,
    state: world.state,
    answer: lastAnswer(handedIn.items),
    items: handedIn.items,
    artifacts: new Map(handedIn.artifacts.map((artifact) => [artifact.name, artifact])),
    submission: request.submission ?? create(SubmissionSchema),
    final: state.fenced,
    steps: run.session.begun("step"),
    stepRewards: state.stepRewards,
    signal: run.execution.signal,
  });
  return verdictOf(definition, measured, state.taskDigest);
}

/** The verdict of what was measured; what cannot be one is a failure (R8). */
function verdictOf<Data, State>(
  definition: EnvironmentDefinition<Data, State>,
  measured: Measured,
  taskDigest: string,
): Verdict {
  if (measured.reward === undefined && measured.masked === undefined) {
    throw new OperationFailure({
      kind: FailureKind.VERIFIER_FAILED,
      retry: Retry.NEVER,
      reason: "the verifier gave neither a reward nor a reason why there is none",
    });
  }
  const declared = definition.reward.components ?? [];
  for (const [name, value] of Object.entries(measured.components ?? {})) {
    // ENV-VRFY-004
    if (!declared.includes(name)) throw new Error(`component ${name} is not declared`);
    if (!Number.isFinite(value)) throw new Error(`component ${name} is not finite`);
  }
  for (const [name, value] of Object.entries(measured.metrics ?? {})) {
    if (!Number.isFinite(value)) throw new Error(`metric ${name} is not finite`);
  }
  // ENV-VRFY-014
  if (measured.masked !== undefined && !measured.masked.reason) throw new Error("masked has no reason");
  return create(VerdictSchema, {
    ...(measured.reward === undefined
      ? {}
      : { reward: checkedReward(measured.reward, definition.reward, "the reward") }),
    components: { ...measured.components },
    ...(measured.success === undefined ? {} : { success: measured.success }),
    ...(measured.masked === undefined ? {} : { masked: measured.masked }),
    // ENV-VRFY-006: the reward is the episode's, with its steps' where they have any.
    stepRewardIncluded: definition.reward.timing !== "terminal",
    metrics: { ...measured.metrics },
    diagnosticsJson: measured.diagnostics === undefined ? "" : JSON.stringify(measured.diagnostics),
    limitHit: measured.limitHit ?? "",
    provenance: {
      implementation: definition.name,
      version: definition.version,
      verifierRevision: definition.verifierRevision ?? definition.version,
      taskDigest,
      isolation: VerifyIsolation.NONE_NEEDED,
      authority: RewardAuthority.ENVIRONMENT,
    },
  });
}
