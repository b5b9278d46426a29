import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { expect, describe as group, it } from "vitest";
import {
  type Block,
  BlockSchema,
  ElementType,
  EnvironmentService,
  type StepResponse,
} from "../../gen/index.js";
import { defineEnvironment } from "../../servers/environment/define-environment.js";
import * as fixture from "./fixture.js";

const { seed, step, close } = fixture;
const { getTask, stepStream } = EnvironmentService.method;

const base = {
  name: "gated",
  version: "1.0.0",
  reward: { timing: "terminal", minimum: 0, maximum: 1 },
  determinism: "seeded",
} as const;

const firstOf = (response: StepResponse | undefined): number | undefined => {
  const kind = response?.outcomes[0]?.observation?.content[0]?.kind;
  return kind?.case === "tensor" ? kind.value.data[0] : undefined;
};

group("what an author keeps and changes", () => {
  it("changes no answer that was given: a buffer that is used again (R2)", async () => {
    const data = new Uint8Array(1);
    const block: Block = create(BlockSchema, {
      kind: { case: "tensor", value: { elementType: ElementType.UINT8, shape: [1n], data } },
    });
    const world = defineEnvironment({
      ...base,
      read: () => null,
      seed: () => ({ state: { count: 0 } }),
      step({ state }) {
        state.count += 1;
        data[0] = state.count;
        return { observation: { content: [block] } };
      },
      verify: () => ({ reward: 1 }),
    });
    await using f = await fixture.serveWorld(world);
    await f.client.unary(seed, fixture.seedRequest());
    for (const i of [0, 1, 2])
      expect(firstOf((await f.client.unary(step, fixture.stepRequest(i))).message)).toBe(i + 1);
    expect(firstOf((await f.client.unary(step, fixture.stepRequest(0))).message)).toBe(1);
    const stream = f.client.duplex(stepStream);
    stream.write({
      frame: 1n,
      operations: [3, 4].map((i) => ({
        operation: { case: "step" as const, value: fixture.stepRequest(i) },
      })),
    });
    const frame = await stream.read();
    expect(
      frame?.answers.map(({ answer }) => (answer.case === "step" ? firstOf(answer.value) : answer.case)),
    ).toEqual([4, 5]);
    stream.end();
  });

  it("is released where Seed fails after it was made (R5, ENV-SEED-010)", async () => {
    const counts = { made: 0, closed: 0 };
    const world = defineEnvironment({
      ...base,
      read: () => null,
      seed() {
        counts.made += 1;
        return { state: counts, input: "x".repeat(5 << 20) };
      },
      verify: () => ({ reward: 1 }),
      close() {
        counts.closed += 1;
      },
    });
    await using f = await fixture.serveWorld(world);
    expect((await f.client.unary(seed, fixture.seedRequest())).error?.reason).toBe("OPERATION_FAILED");
    expect((await f.client.unary(close, fixture.closeRequest())).message?.receipt?.cleanupConfirmed).toBe(
      true,
    );
    expect(counts).toEqual({ made: 1, closed: 1 });
  });

  it("throws the errors of its own calls: no word of them reaches a caller (R9)", async () => {
    const secret = "upstream at 10.0.0.7 said no";
    const world = defineEnvironment({
      ...base,
      splits: {
        test: {
          revision: "1",
          size: 1,
          at() {
            throw new ConnectError(secret, Code.PermissionDenied);
          },
        },
      },
      read: () => null,
      seed: () => ({ state: null }),
      verify: () => ({ reward: 1 }),
    });
    await using f = await fixture.serveWorld(world);
    const { error } = await f.client.unary(getTask, { taskId: { id: "t" } });
    expect(error).toMatchObject({ code: "INTERNAL", reason: "OPERATION_FAILED" });
    expect(
      JSON.stringify(error, (_key, value: unknown) => (typeof value === "bigint" ? 0 : value)),
    ).not.toContain("10.0.0.7");
  });
});

it("a refusal quotes no more of a request than can be delivered with its reason (R4)", async () => {
  await using f = await fixture.startFixture();
  await f.client.unary(seed, fixture.seedRequest());
  const named = fixture.stepOf(0, [fixture.call("x".repeat(60_000), {})]);
  expect((await f.client.unary(step, named)).error).toMatchObject({
    reason: "UNKNOWN_TOOL",
    fields: ["actions[0].tool_call.name"],
  });
});
