import { expect, describe as group, it } from "vitest";
import { ElementType } from "../../gen/index.js";
import { defineEnvironment } from "../../servers/environment/define-environment.js";
import * as fixture from "./fixture.js";

const { seed, step } = fixture;

const world = (space: boolean) =>
  defineEnvironment({
    name: "gated",
    version: "1.0.0",
    reward: { timing: "terminal", minimum: 0, maximum: 1 },
    determinism: "seeded",
    read: () => null,
    seed: () => ({ state: null }),
    stepKinds: ["content"],
    ...(space
      ? {
          actionSpace: [
            { name: "force", elementType: ElementType.FLOAT32, shape: [2n], minimum: -1, maximum: 1 },
            { name: "mask", elementType: ElementType.BOOL, shape: [0n] },
          ],
        }
      : {}),
    step: () => ({ observation: "moved" }),
    verify: () => ({ reward: 1 }),
  });

interface Given {
  readonly name?: string;
  readonly elementType?: ElementType;
  readonly shape?: readonly bigint[];
  readonly data?: Uint8Array;
}

const floats = (...values: readonly number[]): Uint8Array => {
  const view = new DataView(new ArrayBuffer(values.length * 4));
  for (const [i, value] of values.entries()) view.setFloat32(i * 4, value, true);
  return new Uint8Array(view.buffer);
};
const force = (change: Given = {}) => ({
  name: "force",
  elementType: ElementType.FLOAT32,
  shape: [2n],
  data: floats(0.5, -1),
  ...change,
});
const mask = (change: Given = {}) => ({
  name: "mask",
  elementType: ElementType.BOOL,
  shape: [3n],
  data: Uint8Array.of(1, 0, 1),
  ...change,
});
const stepWith = (index: number, ...tensors: readonly Given[]) =>
  fixture.stepOf(index, [
    {
      agentId: "agent",
      kind: {
        case: "content",
        value: {
          blocks: tensors.map(({ shape = [], ...rest }) => ({
            kind: { case: "tensor" as const, value: { ...rest, shape: [...shape] } },
          })),
        },
      },
    },
  ]);

group("tensors of actions (ALL-DATA-005, ALL-DATA-008, field-case-011)", () => {
  it("are refused by their path where they are not of the declared space, and no index is used", async () => {
    await using f = await fixture.serveWorld(world(true));
    await f.client.unary(seed, fixture.seedRequest());
    const at = (i: number, field: string) => `actions[0].content.blocks[${i}].tensor.${field}`;
    const cases: readonly (readonly [readonly Given[], string])[] = [
      [[force({ data: floats(0.5) }), mask()], at(0, "data")],
      [[force({ shape: [3n], data: floats(0, 0, 0) }), mask()], at(0, "shape")],
      [[force({ shape: [2n, 1n] }), mask()], at(0, "shape")],
      [[force({ elementType: ElementType.INT32 }), mask()], at(0, "element_type")],
      [[force({ elementType: ElementType.UNSPECIFIED }), mask()], at(0, "element_type")],
      [[force({ name: "torque" }), mask()], at(0, "name")],
      [[force({ name: "" }), mask()], at(0, "name")],
      [[force({ data: floats(0, 1.5) }), mask()], at(0, "data")],
      [[force({ data: floats(0, Number.NaN) }), mask()], at(0, "data")],
      [[force(), mask(), mask()], at(2, "name")],
      [[force()], "actions[0].content.blocks"],
    ];
    for (const [tensors, field] of cases) {
      const { error } = await f.client.unary(step, stepWith(0, ...tensors));
      expect(error, field).toMatchObject({ reason: "INVALID_FIELD", fields: [field] });
    }
    expect((await f.client.unary(step, stepWith(0, force(), mask()))).message?.stepIndex).toBe(0);
    const wide = mask({ shape: [5n], data: new Uint8Array(5) });
    expect((await f.client.unary(step, stepWith(1, wide, force()))).message?.stepIndex).toBe(1);
  });

  it("have as many bytes as shape and type need, also where no space is declared", async () => {
    await using f = await fixture.serveWorld(world(false));
    await f.client.unary(seed, fixture.seedRequest());
    const { error } = await f.client.unary(step, stepWith(0, force({ shape: [1n << 62n, 1n << 62n] })));
    expect(error?.fields).toEqual(["actions[0].content.blocks[0].tensor.data"]);
    expect((await f.client.unary(step, stepWith(0, force()))).error).toBeUndefined();
  });
});
