import { create } from "@bufbuild/protobuf";
import {
  FailureKind,
  LeaseSchema,
  Retry,
  Stage,
  type Submission,
  type VerifyRequest,
  VerifyRequestSchema,
  type VerifyResult,
} from "../../../gen/index.js";
import type { Slot } from "../../runtime/admission.js";
import { clamp } from "../../runtime/duration.js";
import { Execution } from "../../runtime/execution.js";
import { OperationFailure } from "../../runtime/failure.js";
import { fingerprint } from "../../runtime/fingerprint.js";
import { isInstance } from "../../runtime/is-instance.js";
import type { Delivered } from "../../runtime/ledger.js";
import { logError } from "../../runtime/log.js";
import { drainingRefusal, invalidField, Refusal } from "../../runtime/refusal.js";
import { Session } from "../../runtime/session.js";
import type { EnvironmentContext } from "../environment-context.js";
import type { EnvironmentSession } from "../environment-session.js";
import { releaseQuietly } from "../release-quietly.js";
import { beginWorld } from "../seed/begin-world.js";
import { dataOf, type TaskReading, tryReading } from "../seed/task-reading.js";
import { type ReadAction, readActions } from "../step/check-step.js";
import { checkTurn } from "../step/check-turn.js";
import { takeStep } from "../step/take-step.js";
import { HeldVerifications } from "./held-verifications.js";
import { checkSubmission, resolveSubmission } from "./read-submission.js";
import { score } from "./score.js";
import { tellAccepted, tellResult, verificationEvents } from "./verification-events.js";
import type { SealedSession } from "./verifier-state.js";

/** A verification without its session. */
export interface StatelessVerification {
  /** The operation's name, apart from all sessions. */
  readonly name: string;
  /** The world that it begins again. */
  readonly of: SealedSession;
  readonly maxBytes: number;
}

/** Verifications without a session (feature STATELESS_VERIFY). */
export interface StatelessVerifications {
  /** Scores work, or finds the operation that did (ENV-SLVR-002). */
  perform(request: VerifyRequest, of: StatelessVerification): Delivered<VerifyResult>;
  /** Verifications that run, or wait for their place. */
  readonly live: number;
  /** Ends them (R18). */
  drain(): Promise<void>;
}

const scope = "STATELESS_VERIFY";
/** Nobody holds the world: it ends with the verification. */
const noLease = create(LeaseSchema);

/**
 * Verifies work on a task alone: the world is begun again from task and seed, the submission's steps are taken in it,
 * and its author's `verify` looks at it as it would at the session's (ENV-SLVR-001, ENV-SLVR-005).
 */
export function statelessVerifications<Data, State>(
  context: EnvironmentContext<Data, State>,
): StatelessVerifications {
  const { runtime, definition, sessions } = context;
  const { clock, limits, ledger } = runtime;
  const held = new HeldVerifications(runtime);
  return {
    get live() {
      return held.live;
    },
    drain: () => held.drain(),
    perform(request, { name, of, maxBytes }) {
      let slot: Slot | undefined;
      let steps: readonly (readonly ReadAction[])[] = [];
      let reading: TaskReading<Data>;
      let submission: Submission;
      const timeoutMs = clamp(request.timeout ?? of.task.limits?.verifyTimeout, limits.timeout);
      return ledger.perform<VerifyResult>({
        scope,
        name,
        fingerprint: fingerprint(VerifyRequestSchema, request),
        events: verificationEvents,
        admit(operation, begin) {
          if (runtime.draining) throw drainingRefusal();
          checkSubmission(context, request.submission);
          const read = readSteps(context, request.submission?.steps ?? []);
          reading = tryReading(definition, of.task);
          const enter = (given: Slot): void => {
            try {
              // What it refers to is copied, so only for one that has its place (R12).
              submission = resolveSubmission(context, request.submission);
            } catch (refusal) {
              given.release();
              throw refusal;
            }
            steps = withResolved(read, submission);
            slot = given;
            begin();
          };
          const entered = sessions.admission.enter(() => operation.withdrawn);
          return entered instanceof Promise ? held.wait(operation, entered, enter) : enter(entered);
        },
        async execute(operation) {
          const { answerId } = operation;
          tellAccepted(operation, timeoutMs);
          let session: EnvironmentSession<Data, State> | undefined;
          const execution = new Execution<VerifyResult>({
            clock,
            answerId,
            what: "Verify",
            timeoutMs,
            context: { stage: Stage.VERIFY },
            onError: (error) => logError(runtime.log, { what: "Verify", verification: name }, error),
            run: async ({ signal }) => {
              session = await beginWorld(context, { ...of, data: dataOf(reading), lease: noLease, signal });
              await replay(context, session, { steps, of, signal, answerId });
              signal.throwIfAborted();
              session.fenced = true;
              return await score(context, session, {
                submission,
                steps: steps.length,
                signal,
                answerId,
                maxBytes,
              });
            },
          });
          // Apart from the outcome: neither verdict nor failure waits for the author's clean-up, or is lost to it.
          held.add(execution, async () => {
            const { world } = session ?? {};
            if (world !== undefined)
              await releaseQuietly(context, { state: world.state, madeFor: { verification: name } });
            slot?.release();
          });
          const outcome = await execution.outcome;
          tellResult(operation, outcome);
          clock.setTimer(limits.retentionMs, () => ledger.forget(scope, name));
          return outcome;
        },
      });
    },
  };
}

/** The actions of the submitted steps. Throws the refusal of one that cannot be read, by its path. */
function readSteps<Data, State>(
  context: EnvironmentContext<Data, State>,
  given: Submission["steps"],
): readonly (readonly ReadAction[])[] {
  return given.map(({ stepIndex, actions }, i) => {
    const path = `submission.steps[${i}]`;
    if (stepIndex !== i) {
      throw invalidField(
        `${path}.step_index`,
        `expected ${i}: steps from 0 without gaps, found ${stepIndex}`,
      );
    }
    return readActions(context, actions, `${path}.`);
  });
}

/** The same actions with the bytes that they refer to. */
function withResolved(
  steps: readonly (readonly ReadAction[])[],
  submission: Submission,
): readonly (readonly ReadAction[])[] {
  return steps.map((actions, i) =>
    actions.map((read, k) => ({ ...read, action: submission.steps[i]?.actions[k] ?? read.action })),
  );
}

interface Replay {
  readonly steps: readonly (readonly ReadAction[])[];
  readonly of: SealedSession;
  readonly signal: AbortSignal;
  readonly answerId: string;
}

/** Takes the submitted steps. Throws the failure of a verification whose steps the world does not take. */
async function replay<Data, State>(
  context: EnvironmentContext<Data, State>,
  state: EnvironmentSession<Data, State>,
  { steps, of, signal, answerId }: Replay,
): Promise<void> {
  const session = new Session<EnvironmentSession<Data, State>>(of.sessionId, of.context);
  session.state = state;
  const { turnRules } = context.prepared;
  for (const [index, actions] of steps.entries()) {
    signal.throwIfAborted();
    session.next.set("step", index);
    try {
      checkTurn(session, actions, { ...turnRules, index });
    } catch (error) {
      if (!isInstance(error, Refusal)) throw error;
      const reason = `submission.steps[${index}] cannot be taken: ${error.rawMessage}`;
      throw new OperationFailure({ kind: FailureKind.VERIFIER_FAILED, retry: Retry.NEVER, reason });
    }
    await takeStep(context, actions, { state, index, answerId, execution: { signal } });
  }
}
