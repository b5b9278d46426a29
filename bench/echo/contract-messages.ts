import { create, type DescMessage, fromBinary, type MessageShape, toBinary } from "@bufbuild/protobuf";
import {
  type StepRequest,
  StepRequestSchema,
  type StepResponse,
  StepResponseSchema,
  type StepStreamRequest,
  StepStreamRequestSchema,
  type StepStreamResponse,
  StepStreamResponseSchema,
} from "../../gen/index.js";
import { LAST } from "../world/counter.js";
import { checkStep, someSessionId, stepRequest, stepResponse } from "../world/step-messages.js";
import type { EchoMessages } from "./grpc-js-echo.js";

/** Steps count on within an episode, so that sizes stay those of Step. */
const within = (index: number): number => index % (LAST - 1);

function codec<I extends DescMessage, O extends DescMessage>(input: I, output: O) {
  return {
    encodeRequest: (message: MessageShape<I>) => Buffer.from(toBinary(input, message)),
    decodeRequest: (bytes: Buffer) => fromBinary(input, bytes),
    encodeReply: (message: MessageShape<O>) => Buffer.from(toBinary(output, message)),
    decodeReply: (bytes: Buffer) => fromBinary(output, bytes),
  };
}

/** The step that a request names. */
function indexOf({ name }: StepRequest): number {
  if (name.case !== "stepIndex") throw new Error(`expected a step_index, found ${name.case}`);
  return name.value;
}

/** Step's own messages, answered without any rule. */
export const stepMessages: EchoMessages<StepRequest, StepResponse> = {
  ...codec(StepRequestSchema, StepResponseSchema),
  request: (index) => create(StepRequestSchema, stepRequest(someSessionId, within(index))),
  reply: (request) => create(StepResponseSchema, stepResponse(indexOf(request))),
  check: (reply, index) => void checkStep(reply, within(index)),
};

/** StepStream's own frames, answered without any rule. */
export const stepStreamMessages: EchoMessages<StepStreamRequest, StepStreamResponse> = {
  ...codec(StepStreamRequestSchema, StepStreamResponseSchema),
  request: (index) =>
    create(StepStreamRequestSchema, {
      frame: BigInt(index + 1),
      operations: [{ operation: { case: "step", value: stepRequest(someSessionId, within(index)) } }],
    }),
  reply({ frame, operations }) {
    const operation = operations[0]?.operation;
    if (operation?.case !== "step") throw new Error(`expected a step, found ${operation?.case}`);
    return create(StepStreamResponseSchema, {
      frame,
      answers: [{ answer: { case: "step", value: stepResponse(indexOf(operation.value)) } }],
    });
  },
  check({ frame, answers }, index) {
    const answer = answers[0]?.answer;
    if (frame !== BigInt(index + 1) || answer?.case !== "step") {
      throw new Error(`expected the step of frame ${index + 1}, found frame ${frame}: ${answer?.case}`);
    }
    checkStep(answer.value, within(index));
  },
};
