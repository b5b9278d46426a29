import { create } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import type { ConnectError } from "@connectrpc/connect";
import { type Status, StatusSchema } from "../../../gen/google/rpc/status_pb.js";
import {
  type StepStreamAnswer,
  StepStreamAnswerSchema,
  type StepStreamOperation,
  StepStreamOperationSchema,
  type StepStreamRequest,
  type StepStreamResponse,
  StepStreamResponseSchema,
} from "../../../gen/index.js";
import type { Clock } from "../../runtime/clock.js";
import { invalidField } from "../../runtime/refusal.js";
import { fitFrame, maxOperations } from "./fit-frame.js";
import { maxPipelinedSteps, ReadyQueue } from "./ready-queue.js";
import { type Place, SessionOrder } from "./session-order.js";

/** What a stream works with. */
export interface StepStreamContext {
  readonly clock: Clock;
  /** Largest message that is sent. */
  readonly maxBytes: number;
  /** Does one operation as a call of its own would. Throws, or rejects with, what the call would have failed with. */
  perform(operation: StepStreamOperation): StepStreamAnswer["answer"] | Promise<StepStreamAnswer["answer"]>;
  /** The status of whatever an operation threw. */
  toStatus(error: unknown): ConnectError;
}

/**
 * Takes steps, seeds and closes of any sessions without waiting for each answer (ENV-STRM-*, ENV-BATC-*). Frames are
 * read ahead and worked at once; the ledger and the session's turn keep every rule, as they do for calls. Frames of one
 * session are answered in their order, others when they are done (ENV-BATC-005).
 */
export function stepStream(
  requests: AsyncIterable<StepStreamRequest>,
  context: StepStreamContext,
): AsyncIterableIterator<StepStreamResponse> {
  const ready = new ReadyQueue(context.clock);
  void readFrames(requests, context, ready);
  return ready;
}

/** Reads frames until the caller half-closes or leaves; never throws: a stream that broke has no reader. */
async function readFrames(
  requests: AsyncIterable<StepStreamRequest>,
  context: StepStreamContext,
  ready: ReadyQueue,
): Promise<void> {
  const order = new SessionOrder();
  /** The last frame of each session that is not answered yet, so that its next one is answered behind it. */
  const lastOf = new Map<string, Promise<void>>();
  try {
    for await (const { frame, operations } of requests) {
      const sessions = sessionsOf(operations);
      const earlier = sessions.flatMap((id) => lastOf.get(id) ?? []);
      const answers = answersOf(operations, order, context);
      if (earlier.length === 0 && !(answers instanceof Promise)) {
        ready.push(create(StepStreamResponseSchema, { frame, answers }));
      } else {
        const answered = inOrder(earlier, answers).then((done) => {
          ready.push(create(StepStreamResponseSchema, { frame, answers: done }));
          for (const id of sessions) if (lastOf.get(id) === answered) lastOf.delete(id);
        });
        for (const id of sessions) lastOf.set(id, answered);
        ready.begin(answered);
      }
      if (ready.pending >= maxPipelinedSteps) await ready.room();
    }
  } catch {
    // The caller has left; what was begun goes on without it (R7).
  } finally {
    ready.end();
  }
}

async function inOrder<T>(earlier: readonly Promise<unknown>[], answers: T | Promise<T>): Promise<T> {
  const done = await answers;
  for (const before of earlier) await before;
  return done;
}

/** The answers of a frame; one of nothing is answered too: with what is wrong with it. */
function answersOf(
  operations: readonly StepStreamOperation[],
  order: SessionOrder,
  context: StepStreamContext,
): StepStreamAnswer[] | Promise<StepStreamAnswer[]> {
  const [only = create(StepStreamOperationSchema), ...more] = operations;
  if (more.length === 0) {
    const answer = answerOf(only, order, context);
    return answer instanceof Promise ? answer.then((one) => [one]) : [answer];
  }
  const { maxBytes } = context;
  const most = maxOperations(maxBytes);
  if (operations.length > most) {
    const found = `expected at most ${most} in one frame, found ${operations.length}; nothing was done`;
    return [refused(invalidField("operations", found), context)];
  }
  const broken = (error: unknown): StepStreamAnswer => refused(error, context);
  return Promise.all(operations.map((operation) => answerOf(operation, order, context)))
    .then((answers) => fitFrame(answers, { maxBytes, broken }))
    .catch((error: unknown) => operations.map(() => broken(error)));
}

/** The sessions of a frame, each once. */
function sessionsOf(operations: readonly StepStreamOperation[]): readonly string[] {
  const ids = operations.map(sessionOf);
  return ids.length < 2 ? ids : [...new Set(ids)];
}

function sessionOf({ operation }: StepStreamOperation): string {
  return operation.value?.sessionId ?? "";
}

/** The answer of one operation, at once where it is done at once. Never throws or rejects. */
function answerOf(
  operation: StepStreamOperation,
  order: SessionOrder,
  context: StepStreamContext,
): StepStreamAnswer | Promise<StepStreamAnswer> {
  const sessionId = sessionOf(operation);
  const place = operation.operation.case === "step" ? order.together(sessionId) : order.alone(sessionId);
  if (place.before !== undefined) return answerLater(() => context.perform(operation), place, context);
  try {
    const answer = context.perform(operation);
    if (answer instanceof Promise) return answerLater(() => answer, place, context);
    place.leave();
    return answered(answer);
  } catch (error) {
    place.leave();
    return refused(error, context);
  }
}

async function answerLater(
  perform: () => StepStreamAnswer["answer"] | Promise<StepStreamAnswer["answer"]>,
  place: Place,
  context: StepStreamContext,
): Promise<StepStreamAnswer> {
  try {
    if (place.before !== undefined) await place.before;
    return answered(await perform());
  } catch (error) {
    return refused(error, context);
  } finally {
    place.leave();
  }
}

function answered(answer: StepStreamAnswer["answer"]): StepStreamAnswer {
  return create(StepStreamAnswerSchema, { answer });
}

/** ENV-STRM-003: a refusal is an answer, and the stream lives on. */
function refused(error: unknown, { toStatus }: StepStreamContext): StepStreamAnswer {
  return answered({ case: "error", value: statusOf(toStatus(error)) });
}

function statusOf(error: ConnectError): Status {
  return create(StatusSchema, {
    code: error.code,
    message: error.rawMessage,
    details: error.details.flatMap((detail) =>
      "desc" in detail ? [anyPack(detail.desc, create(detail.desc, detail.value))] : [],
    ),
  });
}
