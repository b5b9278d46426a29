import { describe, expect, it } from "vitest";
import { z } from "zod";
import { StopReason } from "../../../gen/index.js";
import { line, ServedAgent, user } from "../fixtures/served-agent.js";
import { random } from "./random.js";
import { chanceOf, randomArguments } from "./random-arguments.js";

const addTool = {
  name: "add",
  description: "Adds.",
  inputSchemaJson: JSON.stringify({
    type: "object",
    properties: { a: { type: "integer" }, b: { type: "integer", minimum: 5, maximum: 6 } },
    required: ["a", "b"],
  }),
};

/** The turns that a random agent takes, each in a session of its own. */
async function turns(
  sessions: readonly { seed?: number; groupIndex?: number; input?: string; tools?: [] }[],
) {
  await using agent = await ServedAgent.start(random);
  const taken: string[][] = [];
  for (const [i, { seed = 0, groupIndex = 0, input = "go", tools }] of sessions.entries()) {
    const sessionId = `s${i}`;
    await agent.opened({
      sessionId,
      context: { episodeId: { rolloutId: `r${i}` }, groupId: `g${i}`, groupIndex },
      tools: tools ?? [addTool],
      ...(tools === undefined ? {} : { toolAccesses: [] }),
      modelAccesses: [],
      optionsJson: JSON.stringify({ seed }),
    });
    const { completed } = await agent.activate({ sessionId, input: [user(input)] });
    expect(completed?.stopReason).toBe(StopReason.DONE);
    taken.push(completed?.output.map(line) ?? []);
  }
  return { taken, steps: agent.steps };
}

describe("random", () => {
  it("calls tools that there are, with arguments that fit them, and says something", async () => {
    const { taken, steps } = await turns(Array.from({ length: 6 }, (_, seed) => ({ seed })));
    expect(steps.length).toBeGreaterThan(5);
    for (const { actions } of steps) {
      const kind = actions[0]?.kind;
      const { a, b } = JSON.parse(kind?.case === "toolCall" ? kind.value.argumentsJson : "");
      expect([Number.isInteger(a), b === 5 || b === 6]).toEqual([true, true]);
    }
    for (const output of taken) expect(output.at(-1)).toMatch(/^agent ASSISTANT: \w+/);
  });

  it("does the same to the same task, in whatever run; repeats, seeds and tasks differ", async () => {
    const { taken } = await turns([{}, {}, { seed: 1 }, { groupIndex: 1 }, { input: "another task" }]);
    const [first, again, ...others] = taken.map((output) => output.join("\n"));
    expect(again).toBe(first);
    expect(new Set([first, ...others]).size).toBe(4);
  });

  it("answers something where there is no tool at all", async () => {
    const { taken, steps } = await turns([{ tools: [] }]);
    expect(steps).toEqual([]);
    expect(taken[0]).toHaveLength(1);
  });

  it("ends with its budget, and calls no more than its option says (AGT-ACT-027)", async () => {
    await using agent = await ServedAgent.start(random);
    const opened = await agent.opened({
      tools: [addTool],
      modelAccesses: [],
      optionsJson: JSON.stringify({ max_calls: 3 }),
    });
    expect(opened.budget?.maxToolCalls).toBe(3);
    const stops: unknown[] = [];
    for (let i = 0; i < 12; i += 1) {
      const budget = { maxToolCalls: 1 };
      const { completed } = await agent.activate({ activationIndex: i, input: [user(`${i}`)], budget });
      expect(completed?.usage?.toolCalls).toBeLessThanOrEqual(1);
      stops.push(completed?.stopReason);
    }
    expect(new Set(stops)).toEqual(new Set([StopReason.DONE, StopReason.MAX_TURNS]));
  });
});

describe("arguments of chance", () => {
  const chance = chanceOf("test");
  const drawn = (schema: object) =>
    Array.from({ length: 60 }, () => JSON.parse(randomArguments(JSON.stringify(schema), chance)) as unknown);

  it("fit the schemas that tools are defined with", () => {
    const schema = z.strictObject({
      kind: z.enum(["a", "b"]),
      count: z.int().min(3).max(5),
      wide: z.int(),
      share: z.number().min(0).max(1),
      over: z.number().gt(7),
      text: z.string().min(3).max(4),
      flag: z.boolean(),
      list: z
        .array(z.union([z.int(), z.null()]))
        .min(1)
        .max(2),
      fixed: z.literal("x"),
      maybe: z.string().optional(),
      inner: z.object({ deep: z.array(z.boolean()) }),
    });
    const values = drawn(z.toJSONSchema(schema, { io: "input" }));
    for (const value of values) expect(schema.safeParse(value).error).toBeUndefined();
    const maybes = values.map((value) => "maybe" in (value as object));
    expect(new Set(maybes).size).toBe(2);
  });

  it("follow references, also of a schema that holds itself, and lists of types", () => {
    const schema = {
      type: "object",
      properties: { tree: { $ref: "#/$defs/tree" }, both: { type: ["integer", "null"] } },
      required: ["tree", "both"],
      $defs: {
        tree: {
          type: "object",
          properties: {
            left: { $ref: "#/$defs/tree" },
            name: { allOf: [{ type: "string" }, { maxLength: 2 }] },
          },
          required: ["left", "name"],
        },
      },
    };
    for (const value of drawn(schema)) {
      const { tree, both } = value as { tree: { name: string; left: unknown }; both: unknown };
      expect(tree.name.length).toBeLessThanOrEqual(2);
      expect(both === null || Number.isInteger(both)).toBe(true);
    }
  });

  it("are an object whatever the schema says, or says nothing", () => {
    for (const schema of ["", "not json", "{}", '{"properties":{"a":true}}']) {
      const value: unknown = JSON.parse(randomArguments(schema, chance));
      expect(typeof value).toBe("object");
    }
  });
});
