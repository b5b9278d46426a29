import { create } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { encodedBytes } from "../../../clients/channel/encode-message.js";
import { StatusSchema } from "../../../gen/google/rpc/status_pb.js";
import { type StepStreamAnswer, StepStreamAnswerSchema } from "../../../gen/index.js";

/** Bytes that a frame adds to each of its answers, and the frame's own; a generous bound. */
const overheadBytes = 16;

/** How answers are fitted. */
export interface FitOptions {
  /** Bytes of the message. */
  readonly maxBytes: number;
  /** What stands in the place of an answer that has no encoding. */
  readonly broken: (error: unknown) => StepStreamAnswer;
}

/**
 * The answers of a frame of several operations as far as they fit into one message. In the place of one that does not stands a status of
 * nobody's operation, without ErrorInfo: it tells nothing of what came of it, and a repeat of the operation by itself
 * learns it (R4, R11).
 */
export function fitFrame(answers: StepStreamAnswer[], { maxBytes, broken }: FitOptions): StepStreamAnswer[] {
  let left = maxBytes - overheadBytes;
  return answers.map((given) => {
    let answer = given;
    let bytes: number;
    try {
      bytes = encodedBytes(StepStreamAnswerSchema, answer) + overheadBytes;
    } catch (error) {
      // Whatever broke it, it is this operation's alone.
      answer = broken(error);
      bytes = encodedBytes(StepStreamAnswerSchema, answer) + overheadBytes;
    }
    if (bytes <= left) {
      left -= bytes;
      return answer;
    }
    const value = create(StatusSchema, {
      code: Code.ResourceExhausted,
      message: `the answers of this frame are together above the ${maxBytes} bytes of a message: repeat this operation in a frame of its own`,
    });
    left -= overheadBytes;
    return create(StepStreamAnswerSchema, { answer: { case: "error", value } });
  });
}
