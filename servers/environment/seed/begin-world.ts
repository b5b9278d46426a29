import { createHash } from "node:crypto";
import { type EpisodeContext, FailureKind, type Lease, type Task, TaskSchema } from "../../../gen/index.js";
import { clamp } from "../../runtime/duration.js";
import { fingerprint } from "../../runtime/fingerprint.js";
import { readStarts } from "../agent-starts.js";
import { startedShape } from "../answer-shapes.js";
import { checkAuthorAnswer } from "../author-answer.js";
import type { Started } from "../definition/beginning.js";
import type { EnvironmentContext } from "../environment-context.js";
import type { EnvironmentSession } from "../environment-session.js";
import { orRelease } from "../or-release.js";
import { firstStage } from "../stages/stage-progress.js";
import { createStepFeed } from "../watch/step-feed.js";
import { newSession } from "./new-session.js";
import { sessionDescriptor } from "./session-descriptor.js";

/** What a world begins from. */
export interface WorldOrigin<Data> {
  readonly sessionId: string;
  readonly context: EpisodeContext;
  readonly task: Task;
  /** The task as its author's `read` gave it. */
  readonly data: Data;
  readonly seed: bigint | undefined;
  readonly lease: Lease;
  readonly signal: AbortSignal;
}

/** Begins a world: a session before its first step. Throws a failure where its author gave what cannot be. */
export async function beginWorld<Data, State>(
  context: EnvironmentContext<Data, State>,
  { data, signal, ...origin }: WorldOrigin<Data>,
): Promise<EnvironmentSession<Data, State>> {
  const { definition } = context;
  const started = await definition.seed({ data, seed: origin.seed, signal });
  const check = (): void =>
    checkAuthorAnswer(started, startedShape, { by: "seed", kind: FailureKind.SEED_FAILED });
  // What is no object has no state to be released.
  if (typeof started !== "object" || started === null) check();
  return await orRelease(context, { state: started.state, madeFor: { session: origin.sessionId } }, () => {
    check();
    return worldOfStart(context, started, { data, ...origin });
  });
}

function worldOfStart<Data, State>(
  context: EnvironmentContext<Data, State>,
  started: Started<State>,
  { data, ...origin }: Omit<WorldOrigin<Data>, "signal">,
): EnvironmentSession<Data, State> {
  const { runtime, definition, prepared } = context;
  const { task } = origin;
  const starts = readStarts(prepared, started, FailureKind.SEED_FAILED);
  const taskDigest = digestOf(task);
  const stages = firstStage(started.stages, definition.advance !== undefined);
  const seed = started.seed ?? origin.seed;
  const descriptor = sessionDescriptor(context, { ...origin, taskDigest, seed, starts, stages });
  return newSession({
    world: {
      data,
      task,
      state: started.state,
      descriptor,
      feed: createStepFeed(runtime.limits.stepAnswers),
      before: [],
    },
    starts,
    stages,
    taskDigest,
    maxSteps: task.limits?.maxSteps,
    verifyTimeoutMs: clamp(task.limits?.verifyTimeout, runtime.limits.timeout),
  });
}

/** Digest over the whole task, privileged parts included; only controllers see it (ENV-SEED-026). */
export function digestOf(task: Task): string {
  const canonical = fingerprint(TaskSchema, task);
  return `sha256:${createHash("sha256").update(canonical, "latin1").digest("hex")}`;
}
