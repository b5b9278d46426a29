import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  Action,
  StepResponse,
  StepStreamAnswer,
  StepStreamOperationSchema,
  StepStreamRequestSchema,
  StepStreamResponse,
} from "../../../gen/index.js";
import { openOutbox } from "../../subject/outbox.js";
import { type CallStatus, type StreamReply, statusOfMessage, statusText } from "../../subject/reply.js";
import type { CallOptions } from "../../subject/subject-client.js";
import type { EnvironmentCalls, EnvironmentTrial } from "./environment-trial.js";

/** One operation of a frame. */
export type FrameOperation = MessageInitShape<typeof StepStreamOperationSchema>;

/** A stream of steps. */
export interface StepFrames {
  /** Sends a frame; its number. */
  send(...operations: FrameOperation[]): bigint;
  /** The answers to a frame, read on until they come; the end of the stream before it is a finding. */
  answers(frame: bigint): Promise<readonly StepStreamAnswer[]>;
  /** The answer to a frame of one operation. */
  answer(frame: bigint): Promise<StepStreamAnswer>;
  /** Sends a step, and waits for its answer. */
  step(sessionId: string, index: number, actions: readonly Action[]): Promise<StepStreamAnswer>;
  /** Frames answered so far, in the order in which they came. */
  readonly order: readonly bigint[];
  /** Heartbeats so far. */
  readonly heartbeats: number;
  /** Half-closes, and reads what is left. */
  end(): Promise<StreamReply<StepStreamResponse>>;
  /** Leaves at once. */
  cancel(): void;
}

/** Opens a stream of steps. */
export function openFrames(
  t: EnvironmentTrial,
  calls: EnvironmentCalls = t.calls,
  options: CallOptions = {},
): StepFrames {
  const outbox = openOutbox<MessageInitShape<typeof StepStreamRequestSchema>>();
  const feed = calls.stepStream(outbox, options);
  const came = new Map<bigint, readonly StepStreamAnswer[]>();
  const order: bigint[] = [];
  let sent = 0n;
  let heartbeats = 0;
  const take = ({ frame, answers }: StepStreamResponse): void => {
    if (frame === 0n && answers.length === 0) {
      heartbeats += 1;
      return;
    }
    order.push(frame);
    came.set(frame, answers);
  };
  const frames: StepFrames = {
    order,
    get heartbeats() {
      return heartbeats;
    },
    send(...operations) {
      sent += 1n;
      outbox.put({ frame: sent, operations });
      return sent;
    },
    async answers(frame) {
      for (let found = came.get(frame); ; found = came.get(frame)) {
        if (found !== undefined) return found;
        const next = await feed.next();
        if (next !== undefined) {
          take(next);
          continue;
        }
        const { status } = await feed.finish();
        t.judge.that(`frame ${frame}`, false, {
          expected: "an answer",
          actual: `the end of the stream: ${statusText(status)}`,
        });
      }
    },
    async answer(frame) {
      const [answer, ...more] = await frames.answers(frame);
      t.judge.that(`frame ${frame}`, answer !== undefined && more.length === 0, {
        expected: "one answer",
        actual: `${more.length + (answer === undefined ? 0 : 1)} answers`,
      });
      if (answer === undefined) throw new Error("an answer that was judged to be there is not");
      return answer;
    },
    step: (sessionId, index, actions) => frames.answer(frames.send(stepOf(sessionId, index, actions))),
    async end() {
      outbox.end();
      for (let next = await feed.next(); next !== undefined; next = await feed.next()) take(next);
      return feed.finish();
    },
    cancel() {
      outbox.end();
      feed.cancel();
    },
  };
  return frames;
}

/** A step as an operation of a frame. */
export function stepOf(sessionId: string, index: number, actions: readonly Action[]): FrameOperation {
  return {
    operation: {
      case: "step",
      value: { sessionId, name: { case: "stepIndex", value: index }, actions: [...actions] },
    },
  };
}

/** How an operation of a frame ended, as its call alone would tell it. */
export function endOf({ answer }: StepStreamAnswer): { readonly status: CallStatus | undefined } {
  return { status: answer.case === "error" ? statusOfMessage(answer.value) : undefined };
}

/** The answer to a step that must have been taken. */
export function stepped(t: EnvironmentTrial, what: string, { answer }: StepStreamAnswer): StepResponse {
  t.judge.that(what, answer.case === "step", {
    expected: "the answer of Step",
    actual: answer.case === "error" ? statusText(statusOfMessage(answer.value)) : (answer.case ?? "nothing"),
  });
  if (answer.case !== "step") throw new Error("a step that was judged to be answered is not");
  return answer.value;
}
