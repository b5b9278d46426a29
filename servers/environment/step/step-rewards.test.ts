import { describe, expect, it } from "vitest";
import { FailureKind } from "../../../gen/index.js";
import * as fixture from "../../../test/rules/fixture.js";
import { defineEnvironment } from "../define-environment.js";
import type { StepResult } from "../definition/stepping.js";

/** What an untyped author may give. */
const untyped = (reward: unknown): StepResult => ({ reward: reward as number });

const world = (stepReward: "delta" | "cumulative", result: () => StepResult) =>
  defineEnvironment({
    name: "gated",
    version: "1.0.0",
    reward: { timing: "step", stepReward, minimum: 0, maximum: 1 },
    determinism: "seeded",
    read: () => null,
    seed: () => ({ state: null }),
    step: result,
    verify: () => ({ reward: 1 }),
  });

const refused: Readonly<Record<string, () => StepResult>> = {
  null: () => untyped(null),
  true: () => untyped(true),
  "a text": () => untyped("1"),
  "a bigint": () => untyped(1n),
  "null beside a number": () => ({ reward: 0.5, outcomes: { agent: untyped(null) } }),
  "a number beside null": () => ({ ...untyped(null), outcomes: { agent: { reward: 0.5 } } }),
};

describe("a step's reward that is no number", () => {
  for (const [what, result] of Object.entries(refused)) {
    it(`is INVALID_REWARD, never 0: ${what} (R8, ENV-STEP-004)`, async () => {
      await using f = await fixture.serveWorld(world("delta", result));
      await f.client.unary(fixture.seed, fixture.seedRequest());
      const { error } = await f.client.unary(fixture.step, fixture.stepRequest(0));
      expect(error?.failure?.kind).toBe(FailureKind.INVALID_REWARD);
    });
  }

  it("is INVALID_REWARD as a total, too; only what is not given is what there was so far", async () => {
    const results = [{ reward: 0.5 }, {}, untyped(null)];
    await using f = await fixture.serveWorld(world("cumulative", () => results.shift() ?? {}));
    await f.client.unary(fixture.seed, fixture.seedRequest());
    for (const index of [0, 1]) {
      const { message } = await f.client.unary(fixture.step, fixture.stepRequest(index));
      expect(message?.outcomes[0]?.reward?.value).toBe(0.5);
    }
    const { error } = await f.client.unary(fixture.step, fixture.stepRequest(2));
    expect(error?.failure?.kind).toBe(FailureKind.INVALID_REWARD);
  });
});
