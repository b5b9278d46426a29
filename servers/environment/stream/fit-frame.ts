import { create } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { encodedBytes } from "../../../clients/channel/encode-message.js";
import { StatusSchema } from "../../../gen/google/rpc/status_pb.js";
import { type StepStreamAnswer, StepStreamAnswerSchema } from "../../../gen/index.js";

/** Bytes of a frame beside its answers, at most. */
const frameBytes = 16;
/** Bytes that a frame adds to each of its answers, at most: tag and length. */
const envelopeBytes = 6;

/** How answers are fitted. */
export interface FitOptions {
  /** Bytes of the message. */
  readonly maxBytes: number;
  /** What stands in the place of an answer that has no encoding. */
  readonly broken: (error: unknown) => StepStreamAnswer;
}

/** Operations that a frame may have, so that each can be answered, if only that its answer does not fit (ALL-SIZE-001). */
export function maxOperations(maxBytes: number): number {
  return Math.max(1, Math.floor((maxBytes - frameBytes) / bytesOf(tooLarge(maxBytes))));
}

/**
 * The answers of a frame of several operations as far as they fit into one message. In the place of one that does not stands a status of
 * nobody's operation, without ErrorInfo: it tells nothing of what came of it, and a repeat of the operation by itself
 * learns it (R4, R11).
 */
export function fitFrame(answers: StepStreamAnswer[], { maxBytes, broken }: FitOptions): StepStreamAnswer[] {
  const instead = tooLarge(maxBytes);
  const insteadBytes = bytesOf(instead);
  // What every answer has room for at least is not given to another one.
  let left = maxBytes - frameBytes - answers.length * insteadBytes;
  return answers.map((given) => {
    const { answer, bytes } = measured(given, broken);
    const more = Math.max(0, bytes - insteadBytes);
    if (more > left) return instead;
    left -= more;
    return answer;
  });
}

function tooLarge(maxBytes: number): StepStreamAnswer {
  const value = create(StatusSchema, {
    code: Code.ResourceExhausted,
    message: `the answers of this frame are together above the ${maxBytes} bytes of a message: repeat this operation in a frame of its own`,
  });
  return create(StepStreamAnswerSchema, { answer: { case: "error", value } });
}

function measured(
  answer: StepStreamAnswer,
  broken: FitOptions["broken"],
): { readonly answer: StepStreamAnswer; readonly bytes: number } {
  try {
    return { answer, bytes: bytesOf(answer) };
  } catch (error) {
    // Whatever broke it, it is this operation's alone.
    const told = broken(error);
    return { answer: told, bytes: bytesOf(told) };
  }
}

function bytesOf(answer: StepStreamAnswer): number {
  return encodedBytes(StepStreamAnswerSchema, answer) + envelopeBytes;
}
