import { fromBinary } from "@bufbuild/protobuf";
import { expect, describe as group, it } from "vitest";
import { ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.js";
import type { StepStreamResponse } from "../../gen/index.js";
import { EnvironmentService } from "../../gen/index.js";
import * as fixture from "./fixture.js";

const { seed, step } = fixture;
const { stepStream } = EnvironmentService.method;

const frame = (number: number, index: number, sessionId = "s1") => ({
  frame: BigInt(number),
  operations: [{ operation: { case: "step" as const, value: fixture.stepRequest(index, "go", sessionId) } }],
});

/** An answer as a test compares it: the step's index, or the reason of its refusal. */
function told(response: StepStreamResponse | undefined): unknown {
  const answer = response?.answers[0]?.answer;
  if (answer?.case === "step") return answer.value.stepIndex;
  if (answer?.case !== "error") return answer?.case;
  const info = answer.value.details.find(({ typeUrl }) => typeUrl.endsWith(ErrorInfoSchema.typeName));
  return info === undefined ? answer.value.code : fromBinary(ErrorInfoSchema, info.value).reason;
}

group("StepStream", () => {
  it("answers pipelined frames in order, the same ledger behind unary and stream", async () => {
    await using f = await fixture.startFixture();
    await f.client.unary(seed, fixture.seedRequest());
    const stream = f.client.duplex(stepStream);
    for (let i = 0; i < 100; i += 1) stream.write(frame(i + 1, i));
    const answers: StepStreamResponse[] = [];
    for (let i = 0; i < 100; i += 1) answers.push((await stream.read()) as StepStreamResponse);
    expect(answers.map(({ frame: number }) => number)).toEqual(
      Array.from({ length: 100 }, (_, i) => BigInt(i + 1)),
    );
    expect(answers.map(told)).toEqual(Array.from({ length: 100 }, (_, i) => i));
    const replay = await f.client.unary(step, fixture.stepRequest(99));
    expect(replay.delivery).toBe("replayed");
    expect(answers[99]?.answers[0]?.answer.value).toEqual(replay.message);
    expect(f.controls.counts.step).toBe(100);
    stream.end();
    expect(await stream.read()).toBeUndefined();
    expect((await f.client.unary(step, fixture.stepRequest(100))).error).toBeUndefined();
  });

  it("goes on after a refusal; what was sent behind it is OUT_OF_ORDER until its index comes again", async () => {
    await using f = await fixture.startFixture();
    await f.client.unary(seed, fixture.seedRequest());
    const stream = f.client.duplex(stepStream);
    stream.write(frame(1, 0));
    stream.write({
      frame: 2n,
      operations: [{ operation: { case: "step", value: { ...fixture.stepRequest(1), actions: [] } } }],
    });
    stream.write(frame(3, 2));
    stream.write(frame(4, 1));
    stream.write(frame(5, 2));
    const seen: unknown[] = [];
    for (let i = 0; i < 5; i += 1) seen.push(told(await stream.read()));
    expect(seen).toEqual([0, "INVALID_FIELD", "OUT_OF_ORDER", 1, 2]);
    stream.cancel();
  });

  it("answers a failed step with its failure, and what follows with SESSION_FAILED", async () => {
    await using f = await fixture.startFixture();
    await f.client.unary(seed, fixture.seedRequest());
    f.controls.failNext = { at: "step", error: new Error("/secret") };
    const stream = f.client.duplex(stepStream);
    stream.write(frame(1, 0));
    stream.write(frame(2, 1));
    const seen = [await stream.read(), await stream.read()];
    expect(seen.map(told)).toEqual(["OPERATION_FAILED", "SESSION_FAILED"]);
    stream.cancel();
  });

  it("refuses an unknown or closed session as Step does, and a frame of nothing by name (ENV-STRM-011)", async () => {
    await using f = await fixture.startFixture();
    await f.client.unary(seed, fixture.seedRequest());
    const stream = f.client.duplex(stepStream);
    stream.write(frame(1, 0, "nobody"));
    stream.write({ frame: 2n, operations: [] });
    stream.write({ frame: 3n, operations: [{}] });
    stream.write(frame(4, 0));
    const seen: Record<string, unknown> = {};
    for (let i = 0; i < 4; i += 1) {
      const response = await stream.read();
      seen[String(response?.frame)] = told(response);
    }
    expect(seen).toEqual({ 1: "SESSION_UNKNOWN", 2: "INVALID_FIELD", 3: "INVALID_FIELD", 4: 0 });
    await f.client.unary(fixture.close, fixture.closeRequest());
    stream.write(frame(5, 1));
    expect(told(await stream.read())).toBe("SESSION_CLOSED");
    stream.cancel();
  });

  it("leaves no lock behind when its reader leaves in mid-step, and resumes by repeating what was unanswered", async () => {
    await using f = await fixture.startFixture();
    await f.client.unary(seed, fixture.seedRequest());
    f.controls.step.shut();
    const stream = f.client.duplex(stepStream);
    for (let i = 0; i < 20; i += 1) stream.write(frame(i + 1, i));
    await f.controls.step.arrived(1);
    stream.cancel();
    f.controls.step.open();
    const again = f.another().duplex(stepStream);
    for (let i = 0; i < 20; i += 1) again.write(frame(i + 1, i));
    const seen: unknown[] = [];
    for (let i = 0; i < 20; i += 1) seen.push(told(await again.read()));
    expect(seen).toEqual(Array.from({ length: 20 }, (_, i) => i));
    expect(f.controls.counts.step).toBe(20);
    again.cancel();
  });

  it("sends heartbeats that answer nothing and renew nothing", async () => {
    await using f = await fixture.startFixture();
    await f.client.unary(seed, { ...fixture.seedRequest(), lease: { seconds: 12n, nanos: 0 } });
    const stream = f.client.duplex(stepStream);
    stream.write(frame(1, 0));
    await stream.read();
    f.clock.advance(10_000);
    expect(await stream.read()).toMatchObject({ frame: 0n, answers: [] });
    f.clock.advance(2000);
    stream.write(frame(2, 1));
    expect(told(await stream.read())).toBe("SESSION_EXPIRED");
    stream.cancel();
  });
});
