import { create } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import type { ConnectError } from "@connectrpc/connect";
import { type Status, StatusSchema } from "../../gen/google/rpc/status_pb.js";
import {
  type StepStreamAnswer,
  StepStreamAnswerSchema,
  type StepStreamOperation,
  StepStreamOperationSchema,
  type StepStreamRequest,
  type StepStreamResponse,
  StepStreamResponseSchema,
} from "../../gen/index.js";
import type { Clock } from "../runtime/clock.js";
import { invalidField, type Refusal, unsupported } from "../runtime/refusal.js";

/** Unanswered frames that a stream takes before it stops reading; the contract asks for 16 at least. */
export const maxPipelinedSteps = 256;
/** Longest silence of the stream; the contract allows 15 s. */
const heartbeatMs = 10_000;

/** What a stream works with. */
export interface StepStreamContext {
  readonly clock: Clock;
  /** Many sessions a stream, several operations a frame, Seed and Close in frames (feature STEP_BATCH). */
  readonly batch: boolean;
  /** Does one operation as a call of its own would. Throws what the call would have failed with. */
  perform(operation: StepStreamOperation): Promise<StepStreamAnswer["answer"]>;
  /** The status of whatever an operation threw. */
  toStatus(error: unknown): ConnectError;
}

/**
 * Takes steps without waiting for each answer (ENV-STRM-*). Frames are read ahead and worked at once; the ledger and
 * the session's turn keep every rule, as they do for calls. Frames of one session are answered in their order, others
 * when they are done (ENV-BATC-005).
 */
export async function* stepStream(
  requests: AsyncIterable<StepStreamRequest>,
  context: StepStreamContext,
): AsyncGenerator<StepStreamResponse, void, undefined> {
  const ready = new ReadyQueue(context.clock);
  void readFrames(requests, context, ready);
  yield* ready.drain();
}

/** Reads frames until the caller half-closes or leaves; never throws: a stream that broke has no reader. */
async function readFrames(
  requests: AsyncIterable<StepStreamRequest>,
  context: StepStreamContext,
  ready: ReadyQueue,
): Promise<void> {
  /** The last frame of each session, so that its next one is answered behind it. */
  const lastOf = new Map<string, Promise<unknown>>();
  let session: string | undefined;
  try {
    for await (const frame of requests) {
      const refusal = checkFrame(frame, context.batch, session);
      // A refused frame does nothing, so it does not choose the session of the stream either.
      if (refusal === undefined) session ??= sessionOf(frame.operations[0]);
      const sessions = new Set(frame.operations.map(sessionOf));
      const earlier = [...sessions].map((id) => lastOf.get(id));
      // A frame of nothing is answered too: with what is wrong with it.
      const operations =
        frame.operations.length === 0 ? [create(StepStreamOperationSchema)] : frame.operations;
      const answers = Promise.all(operations.map((operation) => answerOf(operation, refusal, context)));
      const answered = inOrder(earlier, answers).then((done) => {
        ready.push(create(StepStreamResponseSchema, { frame: frame.frame, answers: done }));
      });
      for (const id of sessions) lastOf.set(id, answered);
      ready.begin(answered);
      if (ready.pending >= maxPipelinedSteps) await ready.room();
    }
  } catch {
    // The caller has left; what was begun goes on without it (R7).
  } finally {
    ready.end();
  }
}

async function inOrder<T>(
  earlier: readonly (Promise<unknown> | undefined)[],
  answers: Promise<T>,
): Promise<T> {
  const done = await answers;
  for (const before of earlier) if (before !== undefined) await before;
  return done;
}

function sessionOf(operation: StepStreamOperation | undefined): string {
  return operation?.operation.value?.sessionId ?? "";
}

/** Without STEP_BATCH a frame is one step of the stream's one session; another is refused and does nothing (ENV-STRM-013). */
function checkFrame(
  frame: StepStreamRequest,
  batch: boolean,
  session: string | undefined,
): Refusal | undefined {
  if (frame.operations.length === 0) return invalidField("operations", "expected at least one operation");
  if (batch) return undefined;
  const [only] = frame.operations;
  if (frame.operations.length > 1) return unsupported("STEP_BATCH", "a frame of several operations");
  if (only?.operation.case !== "step") return unsupported("STEP_BATCH", "a frame without a step");
  if (session !== undefined && sessionOf(only) !== session)
    return unsupported("STEP_BATCH", "a second session");
  return undefined;
}

async function answerOf(
  operation: StepStreamOperation,
  refusal: Refusal | undefined,
  context: StepStreamContext,
): Promise<StepStreamAnswer> {
  try {
    if (refusal !== undefined) throw refusal;
    return create(StepStreamAnswerSchema, { answer: await context.perform(operation) });
  } catch (error) {
    // ENV-STRM-003: a refusal is an answer, and the stream lives on.
    return create(StepStreamAnswerSchema, {
      answer: { case: "error", value: statusOf(context.toStatus(error)) },
    });
  }
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

/** Answers that are ready to be written, and how many are still to come. */
class ReadyQueue {
  readonly #ready: StepStreamResponse[] = [];
  #pending = 0;
  #ended = false;
  #wake: () => void = () => {};
  #makeRoom: () => void = () => {};

  constructor(private readonly clock: Clock) {}

  /** Frames that are not answered yet. */
  get pending(): number {
    return this.#pending + this.#ready.length;
  }

  /** A frame is worked on; `answered` resolves once its answer has been pushed. */
  begin(answered: Promise<void>): void {
    this.#pending += 1;
    void answered.finally(() => {
      this.#pending -= 1;
      this.#wake();
    });
  }

  push(response: StepStreamResponse): void {
    this.#ready.push(response);
    this.#wake();
  }

  /** No frame follows. */
  end(): void {
    this.#ended = true;
    this.#wake();
  }

  /** Resolves when more frames may be read. */
  async room(): Promise<void> {
    while (this.pending >= maxPipelinedSteps && !this.#ended) {
      await new Promise<void>((resolve) => {
        this.#makeRoom = resolve;
      });
    }
  }

  /** The answers, with heartbeats where none is due. */
  async *drain(): AsyncGenerator<StepStreamResponse, void, undefined> {
    try {
      for (;;) {
        const next = this.#ready.shift();
        if (next !== undefined) {
          this.#makeRoom();
          yield next;
        } else if (this.#ended && this.#pending === 0) {
          return;
        } else if (!(await this.#woken())) {
          yield create(StepStreamResponseSchema);
        }
      }
    } finally {
      this.#ended = true;
      this.#makeRoom();
    }
  }

  /** Whether something has come before the silence was too long. */
  #woken(): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = this.clock.setTimer(heartbeatMs, () => resolve(false));
      this.#wake = () => {
        timer.cancel();
        resolve(true);
      };
    });
  }
}
