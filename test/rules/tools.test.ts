import { expect, describe as group, it } from "vitest";
import { z } from "zod";
import { defineEnvironment } from "../../servers/environment/define-environment.js";
import * as fixture from "./fixture.js";

const { seed, step, listTools, call, stepOf } = fixture;

/** A world whose tasks have tools of their own. */
const world = defineEnvironment({
  name: "gated",
  version: "1.0.0",
  reward: { timing: "terminal", minimum: 0, maximum: 1 },
  determinism: "seeded",
  publicSchema: z.object({ tools: z.array(z.string()) }),
  read: (task) => task.publicJson(z.object({ tools: z.array(z.string()) })),
  seed: ({ data }) => ({ state: { queries: 0 }, tools: data.tools }),
  tools: {
    submit: { description: "Submits.", input: z.object({}), run: () => "done" },
    query_db: {
      description: "Asks the database.",
      input: z.object({ sql: z.string() }),
      run({ sql }, { state }) {
        state.queries += 1;
        return { rows: [sql, state.queries] };
      },
    },
  },
  verify: () => ({ reward: 1 }),
});

const named = (sessionId: string, tools: readonly string[]) =>
  fixture.seedRequest(sessionId, { publicJson: JSON.stringify({ tools }) });

group("tools that depend on the task (field-case-108, ENV-SEED-012)", () => {
  it("are complete in the descriptor and in ListTools, and others are refused by name", async () => {
    await using f = await fixture.serveWorld(world);
    const a = await f.client.unary(seed, named("a", ["submit"]));
    const b = await f.client.unary(seed, named("b", ["submit", "query_db"]));
    const names = (tools: readonly { readonly name: string }[] = []) => tools.map(({ name }) => name);
    expect(names(a.message?.session?.agents[0]?.tools)).toEqual(["submit"]);
    expect(names(b.message?.session?.agents[0]?.tools)).toEqual(["submit", "query_db"]);
    for (const [sessionId, seeded] of [
      ["a", a],
      ["b", b],
    ] as const) {
      const listed = await f.client.unary(listTools, { sessionId, agentId: "agent" });
      expect(listed.message?.tools).toEqual(seeded.message?.session?.agents[0]?.tools);
    }
    const query = [call("query_db", { sql: "select 1" })];
    const refused = await f.client.unary(step, stepOf(0, query, "a"));
    expect(refused.error).toMatchObject({
      code: "INVALID_ARGUMENT",
      reason: "UNKNOWN_TOOL",
      fields: ["actions[0].tool_call.name"],
    });
    const asked = await f.client.unary(step, stepOf(0, query, "b"));
    expect(asked.message?.outcomes[0]?.observation?.items[0]?.kind.value).toMatchObject({
      structuredJson: '{"rows":["select 1",1]}',
    });
  });

  it("are listed without changing anything (ENV-TOOL-002)", async () => {
    await using f = await fixture.serveWorld(world);
    await f.client.unary(seed, named("b", ["submit", "query_db"]));
    for (let i = 0; i < 3; i += 1) await f.client.unary(listTools, { sessionId: "b", agentId: "agent" });
    expect((await f.client.unary(step, stepOf(0, [call("submit", {})], "b"))).message?.stepIndex).toBe(0);
  });
});
