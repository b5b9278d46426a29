import {
  Retry,
  type SessionVerification,
  Stage,
  type Submission,
  type VerifyRequest,
  VerifyRequestSchema,
  type VerifyResult,
} from "../../../gen/index.js";
import { clamp } from "../../runtime/duration.js";
import { fingerprint } from "../../runtime/fingerprint.js";
import type { Delivered } from "../../runtime/ledger.js";
import { invalidField, Refusal, unsupported } from "../../runtime/refusal.js";
import type { EnvironmentContext } from "../environment-context.js";
import { type EnvironmentSession, worldOf } from "../environment-session.js";
import { digestOf } from "../seed/begin-world.js";
import { readSubmission } from "./read-submission.js";
import { score } from "./score.js";
import type { StatelessVerifications } from "./stateless-verify.js";
import { tellAccepted, tellResult, verificationEvents } from "./verification-events.js";
import { invalidState, openState, type SealedSession } from "./verifier-state.js";

/** What Verify works with beside what every operation does. */
export interface VerifyOptions {
  /** Bytes that the answer may have. */
  readonly maxBytes: number;
  /** Verifies work without its session; undefined: not declared (feature STATELESS_VERIFY). */
  readonly stateless: StatelessVerifications | undefined;
}

/** Scores a submission, or finds the operation that did. Its events are those of the operation. */
export function verify<Data, State>(
  context: EnvironmentContext<Data, State>,
  request: VerifyRequest,
  options: VerifyOptions,
): Delivered<VerifyResult> {
  const { target } = request;
  switch (target.case) {
    case "session":
      return verifySession(context, { ...options, request, target: target.value });
    case "stateless": {
      const { verificationId, context: episode, task, seed } = target.value;
      if (options.stateless === undefined) {
        throw unsupported("STATELESS_VERIFY", "Verify without a session");
      }
      if (episode === undefined || task === undefined)
        throw invalidField("stateless", "lacks context or task");
      return options.stateless.perform(request, {
        name: `verification:${verificationId}`,
        of: { sessionId: verificationId, context: episode, task, seed },
        maxBytes: options.maxBytes,
      });
    }
    case undefined:
      throw invalidField("target", "expected session or stateless, found neither");
  }
}

interface OfSession extends VerifyOptions {
  readonly request: VerifyRequest;
  readonly target: SessionVerification;
}

function verifySession<Data, State>(
  context: EnvironmentContext<Data, State>,
  { request, target, maxBytes, stateless }: OfSession,
): Delivered<VerifyResult> {
  const { runtime, sessions, tokens } = context;
  const { sessionId, verificationIndex, final } = target;
  const sealed = readState(context, target);
  if (sealed !== undefined && stateless !== undefined && !sessions.has(sessionId)) {
    // ENV-SLVR-004: another instance knows nothing of the session but what its state tells.
    const name = `session:${sessionId}:${verificationIndex}`;
    return stateless.perform(request, { name, of: sealed, maxBytes });
  }
  const { timeout: bounds } = runtime.limits;
  const timeoutOf = ({ verifyTimeoutMs }: EnvironmentSession<Data, State>): number =>
    request.timeout === undefined ? verifyTimeoutMs : clamp(request.timeout, bounds);
  let submission: Submission;
  return sessions.operate<VerifyResult>(sessionId, {
    kind: "verification",
    index: verificationIndex,
    fingerprint: fingerprint(VerifyRequestSchema, request),
    timeoutMs: timeoutOf,
    context: { stage: Stage.VERIFY },
    harmless: true,
    events: verificationEvents,
    check({ state }) {
      checkNoSteps(request.submission);
      if (sealed !== undefined && state !== undefined && digestOf(sealed.task) !== state.taskDigest) {
        throw invalidState();
      }
      // ENV-VRFY-018
      if (state?.verified)
        throw new Refusal("EPISODE_ENDED", "the final verification is done: nothing is verified any more");
      // Read last, and for a new verification only: a repeat is answered though its blobs have gone (R2).
      submission = readSubmission(context, request.submission);
    },
    async run({ session, state, operation, execution, answerId }) {
      tellAccepted(operation, timeoutOf(state));
      if (final) {
        // ENV-FENC-001, ALL-PRIN-010: from here on nothing is stepped, and no agent acts.
        state.fenced = true;
        state.ended = true;
        tokens.revoke(worldOf(state).descriptor);
      }
      if (state.fenced) state.submitted ??= submission;
      return await score(context, state, {
        submission: state.fenced ? state.submitted : submission,
        steps: session.begun("step"),
        signal: execution.signal,
        answerId,
        maxBytes,
      });
    },
    onEnd(outcome, { state, operation }) {
      const again = !outcome.ok && outcome.error.failure.retry === Retry.NEXT_INDEX;
      if (state.fenced && !again) state.verified = true;
      const stage =
        outcome.ok && outcome.answer.outcome.case === "verdict"
          ? outcome.answer.outcome.value.stage
          : undefined;
      if (stage !== undefined && state.stages !== undefined) {
        state.stages.verified = true;
        state.stages.over = stage.episodeOver;
      }
      tellResult(operation, outcome);
    },
  });
}

/** What a given verifier_state holds. Throws VERIFIER_STATE_INVALID where it is not one of the session's. */
function readState<Data, State>(
  { runtime, definition }: EnvironmentContext<Data, State>,
  { sessionId, verifierState }: SessionVerification,
): SealedSession | undefined {
  if (verifierState.length === 0) return undefined;
  if (definition.stateless !== true) throw invalidState();
  return openState(runtime.verifierKey, verifierState, sessionId);
}

function checkNoSteps(submission: Submission | undefined): void {
  if (submission !== undefined && submission.steps.length > 0) {
    throw invalidField("submission.steps", "expected none: the session knows its own steps");
  }
}
