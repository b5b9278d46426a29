import { expect, describe as group, it } from "vitest";
import { z } from "zod";
import { Feature } from "../../gen/index.js";
import { defineEnvironment } from "../../servers/environment/define-environment.js";
import * as fixture from "./fixture.js";

const { seed, step, describe, call, stepOf } = fixture;

const world = (strictArguments: boolean) =>
  defineEnvironment({
    name: "gated",
    version: "1.0.0",
    reward: { timing: "terminal", minimum: 0, maximum: 1 },
    determinism: "seeded",
    strictArguments,
    read: () => null,
    seed: () => ({ state: { calls: 0 } }),
    tools: {
      edit: {
        description: "Edits.",
        input: z.strictObject({
          path: z.string(),
          edits: z.array(z.object({ line: z.int() })).default([]),
        }),
        run({ path, edits }, { state }) {
          state.calls += 1;
          return `${path} ${edits.length} ${state.calls}`;
        },
      },
      plain: {
        description: "Takes a JSON Schema.",
        input: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
        run: ({ n }) => String(n),
      },
    },
    verify: () => ({ reward: 0 }),
  });

group("STRICT_ARGUMENTS", () => {
  const bad = { path: 1, edits: [{ line: 1 }, { line: "x" }], more: true };

  it("refuses arguments off the schema naming each, and runs nothing (ENV-STEP-011)", async () => {
    await using f = await fixture.serveWorld(world(true));
    expect((await f.client.unary(describe, {})).message?.service?.features).toContain(
      Feature.STRICT_ARGUMENTS,
    );
    await f.client.unary(seed, fixture.seedRequest());
    const refused = await f.client.unary(step, stepOf(0, [call("edit", bad)]));
    const args = "actions[0].tool_call.arguments_json";
    expect(refused.error).toMatchObject({ code: "INVALID_ARGUMENT", reason: "INVALID_FIELD" });
    expect(refused.error?.fields).toEqual([`${args}.path`, `${args}.edits[1].line`, `${args}.more`]);
    const missing = await f.client.unary(step, stepOf(0, [call("plain", {})]));
    expect(missing.error?.fields).toEqual([`${args}.n`]);
    const good = await f.client.unary(step, stepOf(0, [call("edit", { path: "a" })]));
    expect(good.message?.outcomes[0]?.observation?.items[0]?.kind.value).toMatchObject({
      isError: false,
      content: [{ kind: { value: "a 0 1" } }],
    });
  });

  it("is not declared without, and the agent then reads what is wrong (ENV-STEP-023)", async () => {
    await using f = await fixture.serveWorld(world(false));
    const features = (await f.client.unary(describe, {})).message?.service?.features;
    expect(features).not.toContain(Feature.STRICT_ARGUMENTS);
    await f.client.unary(seed, fixture.seedRequest());
    const told = await f.client.unary(step, stepOf(0, [call("edit", bad)]));
    expect(told.message?.outcomes[0]?.observation?.items[0]?.kind.value).toMatchObject({
      isError: true,
      content: [{ kind: { value: expect.stringMatching(/path: .*edits\[1\]\.line: .*more: /s) } }],
    });
    expect((await f.client.unary(step, stepOf(1, [call("edit", { path: "a" })]))).error).toBeUndefined();
  });
});
