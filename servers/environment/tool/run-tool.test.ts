import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { ToolCallSchema } from "../../../gen/index.js";
import { textBlock } from "../../runtime/items.js";
import { defineEnvironment } from "../define-environment.js";
import { type ToolDefinition, ToolError, type ToolInput, tool, toolsOf } from "../definition/tool.js";
import { prepareTool } from "./prepared-tool.js";
import { runTool } from "./run-tool.js";

const run = async <Input extends ToolInput>(definition: ToolDefinition<Input, unknown>, args: object) =>
  await runTool(
    prepareTool("t", definition as unknown as ToolDefinition<ToolInput, unknown>),
    { call: create(ToolCallSchema, { callId: "c", name: "t" }), args },
    { state: {}, agentId: "agent", signal: new AbortController().signal },
  );

const described = <Input extends ToolInput>(definition: ToolDefinition<Input, unknown>) =>
  prepareTool("t", definition as unknown as ToolDefinition<ToolInput, unknown>).described;

describe("what a tool gives", () => {
  const gives = (given: unknown) =>
    run(tool({ description: "Gives.", input: z.object({}), run: () => given as object }), {});

  it.each([
    [{ content: "x", rewards: 1 }, 'tool "t": unknown field "rewards"; did you mean "reward"?'],
    [{ content: "x", terminate: true }, 'tool "t": unknown field "terminate"; did you mean "terminated"?'],
    [{ content: "x", terminated: 1 }, 'tool "t": terminated: expected a boolean, found 1'],
    [{ content: 5 }, 'tool "t": content: expected text, an object, or a list of blocks, found 5'],
    [{ content: [1] }, 'tool "t": content: expected a list of blocks, found one of other things'],
    [{ contents: "x" }, 'tool "t": "contents" without "content"'],
    [{ reward: 1 }, 'tool "t": "reward" without "content"'],
    [{ rewrd: 0.5, text: "x" }, 'tool "t": "rewrd" without "content"'],
    [5, 'tool "t" gave 5; expected text or an object'],
    [undefined, 'tool "t" gave nothing; expected text or an object'],
  ])("is refused by name where it is none: %j", async (given, reason) => {
    await expect(gives(given)).rejects.toThrow(reason);
  });

  it.each([
    { price: 5, name: "tea" },
    { rewards: ["tea"] },
    { info: "x", next: 2 },
    { context: "x" },
    [1, 2],
  ])("is data for the agent where it is nothing else: %j", async (given) => {
    expect((await gives(given)).result.structuredJson).toBe(JSON.stringify(given));
  });
});

describe("tool", () => {
  const add = tool({
    description: "Adds.",
    input: z.strictObject({ a: z.number(), b: z.number().default(1) }),
    run: ({ a, b }) => String(a + b),
  });

  it("takes a Zod schema: types, defaults, and the JSON Schema that agents see", async () => {
    expect((await run(add, { a: 2 })).result).toMatchObject({
      callId: "c",
      isError: false,
      content: [{ kind: { value: "3" } }],
    });
    expect(JSON.parse(described(add).inputSchemaJson)).toMatchObject({
      type: "object",
      properties: { a: { type: "number" } },
      required: ["a"],
      additionalProperties: false,
    });
  });

  it("takes a JSON Schema as it is, and holds arguments to it", async () => {
    const schema = {
      type: "object",
      properties: { path: { type: "string" } },
      required: ["path"],
      additionalProperties: false,
    } as const;
    const read = tool({
      description: "Reads.",
      input: schema,
      run: (args) => `read ${String(args["path"])}`,
    });
    expect(JSON.parse(described(read).inputSchemaJson)).toEqual(schema);
    expect((await run(read, { path: "/a" })).result.content).toMatchObject([{ kind: { value: "read /a" } }]);
    expect((await run(read, { path: 1 })).result).toMatchObject({ isError: true });
  });

  it("tells the agent what is wrong with its arguments, by name", async () => {
    const { result } = await run(add, { a: "two", c: 1 });
    expect(result.isError).toBe(true);
    const [block] = result.content;
    expect(block?.kind.value).toMatch(/a: .*number.*c: Unrecognized key: "c"/s);
  });

  it("gives objects as JSON, structured beside; blocks as they are; rewards and ends apart", async () => {
    const given = (answer: string | object) =>
      tool({ description: "", input: z.object({}), run: () => answer });
    expect((await run(given({ n: 1 }), {})).result).toMatchObject({
      structuredJson: '{"n":1}',
      content: [{ kind: { value: '{"n":1}' } }],
    });
    expect((await run(given({ content: [textBlock("x"), textBlock("y")] }), {})).result.content).toHaveLength(
      2,
    );
    expect(await run(given({ content: "won", reward: 0.5, terminated: true }), {})).toMatchObject({
      reward: 0.5,
      terminated: true,
    });
  });

  it("gives a ToolError to the agent and lets everything else through", async () => {
    const failing = (error: unknown) =>
      tool({
        description: "",
        input: z.object({}),
        run: () => {
          throw error;
        },
      });
    expect((await run(failing(new ToolError("no such file")), {})).result).toMatchObject({ isError: true });
    await expect(run(failing(new Error("boom")), {})).rejects.toThrow("boom");
  });
});

describe("toolsOf", () => {
  interface Shelf {
    readonly books: string[];
  }
  const ofShelf = toolsOf<Shelf>();
  const put = ofShelf({
    description: "Puts a book on the shelf.",
    input: z.strictObject({ title: z.string() }),
    run({ title }, { state }) {
      state.books.push(title.trim());
      return String(state.books.length);
    },
  });
  const world = {
    name: "shelf",
    version: "1.0.0",
    reward: { timing: "terminal", minimum: 0, maximum: 1 },
    determinism: "seeded",
    read: () => null,
    verify: () => ({ reward: 1 }),
  } as const;

  it("types state and arguments of tools that are defined apart from their environment", async () => {
    const shelf: Shelf = { books: [] };
    expect(
      await put.run({ title: " Emma " }, { state: shelf, agentId: "agent", signal: AbortSignal.abort() }),
    ).toBe("1");
    expect(shelf.books).toEqual(["Emma"]);
    expect(defineEnvironment({ ...world, seed: () => ({ state: shelf }), tools: { put } }).tools).toEqual({
      put,
    });
  });

  it("lets no tool be used with another state", () => {
    const tools = { put };
    const seeded = { ...world, tools, seed: () => ({ state: { pages: 3 } }) };
    // @ts-expect-error the environment's state has no books
    expect(defineEnvironment(seeded).name).toBe("shelf");
    const input = z.object({});
    // @ts-expect-error a shelf has no pages
    const count = ofShelf({ description: "", input, run: (_args, { state }) => `${state.pages}` });
    expect(count.input).toBe(input);
  });
});
