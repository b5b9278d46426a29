import { fromBinary } from "@bufbuild/protobuf";
import { expect, describe as group, it } from "vitest";
import { ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.js";
import {
  EnvironmentService,
  Feature,
  type StepStreamAnswer,
  type StepStreamResponse,
} from "../../gen/index.js";
import type { BareDuplex } from "../bare-client.js";
import * as fixture from "./fixture.js";

const { seed, step, close, describe } = fixture;
const { stepStream } = EnvironmentService.method;

const ids = Array.from({ length: 16 }, (_, i) => `s${i}`);
const stepOf = (sessionId: string, index = 0, text = "go") => ({
  operation: { case: "step" as const, value: fixture.stepRequest(index, text, sessionId) },
});
const seedOf = (sessionId: string) => ({
  operation: { case: "seed" as const, value: fixture.seedRequest(sessionId) },
});
const closeOf = (sessionId: string) => ({
  operation: { case: "close" as const, value: fixture.closeRequest(sessionId) },
});

function told({ answer }: StepStreamAnswer): unknown {
  if (answer.case === "step") return answer.value.stepIndex;
  if (answer.case !== "error") return answer.case;
  const info = answer.value.details.find(({ typeUrl }) => typeUrl.endsWith(ErrorInfoSchema.typeName));
  return info === undefined ? answer.value.code : fromBinary(ErrorInfoSchema, info.value).reason;
}

const next = async (stream: BareDuplex<never, StepStreamResponse>): Promise<[bigint, unknown[]]> => {
  const response = await stream.read();
  return [response?.frame ?? -1n, response?.answers.map(told) ?? []];
};

group("STEP_BATCH", () => {
  it("is declared where there are steps", async () => {
    await using f = await fixture.startFixture();
    expect((await f.client.unary(describe, {})).message?.service?.features).toContain(Feature.STEP_BATCH);
  });

  it("steps many sessions in one frame, each answered as its own call would be (ENV-BATC-001)", async () => {
    await using f = await fixture.startFixture();
    for (const id of ids) await f.client.unary(seed, fixture.seedRequest(id));
    const stream = f.client.duplex(stepStream);
    stream.write({ frame: 1n, operations: ids.map((id) => stepOf(id)) });
    const response = await stream.read();
    expect(response?.answers.map(told)).toEqual(ids.map(() => 0));
    for (const [i, id] of ids.entries()) {
      const replay = await f.client.unary(step, fixture.stepRequest(0, "go", id));
      expect(replay.delivery).toBe("replayed");
      expect(response?.answers[i]?.answer.value).toEqual(replay.message);
    }
    stream.cancel();
  });

  it("lets a refused or failed session of a frame touch no other (ENV-BATC-002)", async () => {
    await using f = await fixture.startFixture();
    for (const id of ids) await f.client.unary(seed, fixture.seedRequest(id));
    f.controls.failNext = { at: "step", error: new Error("/secret") };
    const stream = f.client.duplex(stepStream);
    const operations = ids.map((id, i) => stepOf(id, i === 7 ? 5 : 0));
    stream.write({ frame: 1n, operations: [...operations, stepOf("nobody")] });
    const [, answers] = await next(stream);
    expect(answers).toEqual([
      "OPERATION_FAILED",
      ...ids.slice(1).map((_, i) => (i + 1 === 7 ? "OUT_OF_ORDER" : 0)),
      "SESSION_UNKNOWN",
    ]);
    stream.cancel();
  });

  it("does the operations of one session in their order: seed, steps, close (ENV-BATC-003, ENV-BATC-004)", async () => {
    await using f = await fixture.startFixture();
    const stream = f.client.duplex(stepStream);
    f.controls.seed.shut();
    stream.write({
      frame: 1n,
      operations: [seedOf("a"), stepOf("a", 0), stepOf("a", 1), closeOf("a"), stepOf("a", 2), seedOf("a")],
    });
    await f.controls.seed.arrived(1);
    expect((await f.client.unary(describe, {})).error).toBeUndefined();
    f.controls.seed.open();
    expect(await next(stream)).toEqual([1n, ["seed", 0, 1, "close", "SESSION_CLOSED", "SESSION_CLOSED"]]);
    expect(f.controls.counts).toMatchObject({ seed: 1, step: 2, release: 1 });
    const receipt = await f.client.unary(close, fixture.closeRequest("a"));
    expect(receipt.message).toMatchObject({ steps: 2, receipt: { alreadyClosed: true } });
    stream.cancel();
  });

  it("does a Seed in a frame as Seed: replayed, in conflict, refused alike (ENV-BATC-003)", async () => {
    await using f = await fixture.startFixture();
    const stream = f.client.duplex(stepStream);
    stream.write({ frame: 1n, operations: [seedOf("a")] });
    const first = await stream.read();
    const replay = await f.client.unary(seed, fixture.seedRequest("a"));
    expect(replay.delivery).toBe("replayed");
    expect(first?.answers[0]?.answer.value).toEqual(replay.message);
    const other = { ...fixture.seedRequest("a"), seed: 1n };
    stream.write({
      frame: 2n,
      operations: [
        { operation: { case: "seed", value: other } },
        { operation: { case: "seed", value: { ...fixture.seedRequest("b"), sessionId: "" } } },
        { operation: { case: "close", value: { sessionId: "a" } } },
      ],
    });
    expect(await next(stream)).toEqual([2n, ["OPERATION_CONFLICT", "INVALID_FIELD", "INVALID_FIELD"]]);
    expect(f.controls.counts.seed).toBe(1);
    stream.cancel();
  });

  it("holds no session's answers back for a slow one, and keeps the order of its own (ENV-BATC-005)", async () => {
    await using f = await fixture.startFixture();
    for (const id of ["slow", "b", "c"]) await f.client.unary(seed, fixture.seedRequest(id));
    const stream = f.client.duplex(stepStream);
    f.controls.step.shut();
    stream.write({ frame: 1n, operations: [stepOf("slow")] });
    await f.controls.step.arrived(1);
    stream.write({ frame: 2n, operations: [stepOf("slow", 1), stepOf("nobody")] });
    stream.write({ frame: 3n, operations: [stepOf("b", 9)] });
    stream.write({ frame: 4n, operations: [stepOf("c", 9)] });
    expect(await next(stream)).toEqual([3n, ["OUT_OF_ORDER"]]);
    expect(await next(stream)).toEqual([4n, ["OUT_OF_ORDER"]]);
    f.controls.step.open();
    expect(await next(stream)).toEqual([1n, [0]]);
    expect(await next(stream)).toEqual([2n, [1, "SESSION_UNKNOWN"]]);
    stream.cancel();
  });

  it("answers what fits into a message, and of the rest that a repeat learns it (field-case-062)", async () => {
    await using f = await fixture.startFixture();
    const few = ids.slice(0, 5);
    for (const id of few) await f.client.unary(seed, fixture.seedRequest(id));
    f.controls.observation = "x".repeat(1 << 20);
    const stream = f.client.duplex(stepStream);
    stream.write({ frame: 1n, operations: few.map((id) => stepOf(id)) });
    const [, answers] = await next(stream);
    expect(answers).toEqual([0, 0, 0, 8, 8]);
    const again = await f.client.unary(step, fixture.stepRequest(0, "go", "s4"));
    expect(again.delivery).toBe("replayed");
    expect(f.controls.counts.step).toBe(5);
    stream.cancel();
  });
});
