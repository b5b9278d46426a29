import { create, toBinary } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import {
  type StepStreamAnswer,
  StepStreamAnswerSchema,
  type StepStreamOperation,
  StepStreamRequestSchema,
  StepStreamResponseSchema,
} from "../../../gen/index.js";
import { ManualClock } from "../../../test/manual-clock.js";
import { fitFrame } from "./fit-frame.js";
import { type StepStreamContext, stepStream } from "./step-stream.js";

const maxBytes = 10_000;
const textOf = (bytes: number) => "x".repeat(bytes);
const answerOf = (bytes: number): StepStreamAnswer =>
  create(StepStreamAnswerSchema, { answer: { case: "step", value: { answerId: textOf(bytes) } } });
const broken = (): never => {
  throw new Error("every answer of these tests has an encoding");
};
const frameBytes = (answers: readonly StepStreamAnswer[]): number =>
  toBinary(
    StepStreamResponseSchema,
    create(StepStreamResponseSchema, { frame: 2n ** 64n - 1n, answers: [...answers] }),
  ).length;

/** The answers of a stream to one frame. */
async function answersTo(operations: StepStreamOperation[], context: Partial<StepStreamContext>) {
  async function* frames() {
    yield create(StepStreamRequestSchema, { frame: 1n, operations });
  }
  const stream = stepStream(frames(), {
    clock: new ManualClock(),
    maxBytes,
    perform: () => ({ case: "step", value: answerOf(1).answer.value }) as StepStreamAnswer["answer"],
    toStatus: (error) => ConnectError.from(error),
    ...context,
  });
  const frame: StepStreamAnswer[] = [];
  for await (const { answers } of stream) frame.push(...answers);
  return frame;
}

const operations = (count: number) =>
  create(StepStreamRequestSchema, {
    operations: Array.from({ length: count }, (_, i) => ({
      operation: { case: "step" as const, value: { sessionId: `s${i}` } },
    })),
  }).operations;

describe("the answers of a frame", () => {
  it("are never above a message, what stands in the place of those that do not fit included (R11)", () => {
    for (const size of [0, 50, 100, 150, 190, 250, 1000, 4990, 9970, 20_000]) {
      for (const count of [2, 3, 20, 50]) {
        const fitted = fitFrame(
          Array.from({ length: count }, () => answerOf(size)),
          { maxBytes, broken },
        );
        expect(fitted).toHaveLength(count);
        expect(frameBytes(fitted), `${count} of ${size}`).toBeLessThanOrEqual(maxBytes);
      }
    }
    const small = Array.from({ length: 50 }, () => answerOf(150));
    expect(fitFrame(small, { maxBytes, broken })).toEqual(small);
  });

  it("leave room for the small ones behind a large one", () => {
    const fitted = fitFrame([answerOf(9000), answerOf(9000), answerOf(10)], { maxBytes, broken });
    expect(fitted.map(({ answer }) => answer.case)).toEqual(["step", "error", "step"]);
  });

  it("are given, though what came of an operation cannot even be told", async () => {
    const unshowable = Object.assign(new ConnectError("no"), { code: 1.5 });
    const nothing = { case: "step", value: { stepIndex: -1 } } as unknown as StepStreamAnswer["answer"];
    const answers = await answersTo(operations(2), { perform: () => nothing, toStatus: () => unshowable });
    expect(answers.map(({ answer }) => answer.case)).toEqual(["error", "error"]);
  });

  it("are refused as one, and nothing is done, where not even that they do not fit could be said (ALL-SIZE-001)", async () => {
    let done = 0;
    const perform: StepStreamContext["perform"] = () => {
      done += 1;
      return answerOf(500).answer;
    };
    const many = await answersTo(operations(5000), { perform });
    expect(many.map(({ answer }) => answer.case)).toEqual(["error"]);
    expect(done).toBe(0);
    const few = await answersTo(operations(40), { perform });
    expect([few.length, done]).toEqual([40, 40]);
    expect(frameBytes(few)).toBeLessThanOrEqual(maxBytes);
  });
});
