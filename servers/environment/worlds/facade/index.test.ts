import { create, type MessageInitShape, toJson } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { Boundary, FailureKind, Feature, Retry, TaskSchema } from "../../../../gen/index.js";
import { ManualClock } from "../../../../test/manual-clock.js";
import { Channels } from "../../../runtime/dial.js";
import { assistantMessage, textOf } from "../../../runtime/items.js";
import { PlayedWorld } from "../fixtures/played-world.js";
import { hidden } from "../hidden-data.js";
import { reasoning } from "../reasoning/index.js";
import { workbench } from "../workbench/index.js";
import { facade } from "./index.js";

const tickets = ["open", "open", "closed"].map((status, i) => ({
  id: i + 1,
  title: `Ticket ${i + 1}`,
  status,
  priority: "low",
  assignee: "bo@office.example",
}));
const officeTask = {
  taskId: { id: "office" },
  environment: "workbench",
  privileged: hidden({
    office: { mails: [], events: [], tickets },
    solution: [{ tool: "update_ticket", args: { id: 1, status: "closed" } }],
    canary: "CANARY-office",
  }),
};
const questionTask = (answer = "#### 2") => ({
  taskId: { id: "question" },
  environment: "reasoning",
  row: {
    data: new TextEncoder().encode(JSON.stringify({ question: "How many tickets are open?", answer })),
    mediaType: "application/json",
    rowSchema: "gsm8k",
  },
});
const json = (task: MessageInitShape<typeof TaskSchema>) => toJson(TaskSchema, create(TaskSchema, task));

const bothTask = (question = questionTask()) => ({
  taskId: { id: "both" },
  environment: "research",
  privileged: hidden({ tools: json(officeTask), verifier: json(question) }),
});

/** A facade over a workbench and a reasoning server that each have room for one session. */
async function serveBoth({ clock = new ManualClock() } = {}) {
  const parts = { clock, limits: { maxSessions: 1, queueTimeoutMs: 0 } };
  const office = await PlayedWorld.serve(workbench({}), parts);
  const questions = await PlayedWorld.serve(reasoning({ calculator: false }), parts);
  const channels = new Channels();
  const definition = await facade(
    { name: "research", tools: { url: office.server.url }, verifier: { url: questions.server.url } },
    { dial: channels.dial, clock, servers: new Map() },
  );
  const world = await PlayedWorld.serve(definition, { clock });
  return {
    clock,
    office,
    questions,
    world,
    async [Symbol.asyncDispose]() {
      await world[Symbol.asyncDispose]();
      await channels[Symbol.asyncDispose]();
      await office[Symbol.asyncDispose]();
      await questions[Symbol.asyncDispose]();
    },
  };
}

const answer = (text: string) => ({ agents: [{ agentId: "agent", items: [assistantMessage(text)] }] });

describe("facade", () => {
  it("is an environment as any other: the tools of one, the question and the verdict of the other", async () => {
    await using both = await serveBoth();
    const { service, declarations, environment } = await both.world.describe();
    expect(environment).toBe("research");
    expect(service?.features).toEqual(expect.arrayContaining([Feature.TOOLS, Feature.STEP]));
    expect(declarations?.reward).toMatchObject({ minimum: 0, maximum: 1 });
    const session = await both.world.begin(bothTask());
    expect(JSON.stringify(session.session.agents[0]?.input)).toContain("How many tickets are open?");
    const [tools] = session.session.agents.map((view) => view.tools);
    expect(tools).toEqual((await both.office.describe()).declarations?.tools);
    const { message } = await session.call("search_tickets", { status: "open" });
    const result = message?.outcomes[0]?.observation?.items[0]?.kind;
    expect(result?.case).toBe("toolResult");
    expect(result?.case === "toolResult" ? textOf(result.value.content) : "").toMatch(/Ticket 1.*Ticket 2/);
    expect(session.rewards).toEqual([undefined]);
    const verdict = await session.verify(answer("#### 2"));
    expect(verdict).toMatchObject({
      reward: { value: 1 },
      success: true,
      stepRewardIncluded: false,
      provenance: { implementation: "research", verifierRevision: "reasoning@1.0.0" },
    });
    expect(JSON.parse(verdict.diagnosticsJson)).toMatchObject({ verified_by: "reasoning@1.0.0" });
    await session.close();
    const wrong = await both.world.begin(bothTask());
    expect((await wrong.verify(answer("#### 3"))).reward?.value).toBe(0);
    await wrong.close();
    const oracle = await both.world.begin(bothTask());
    expect(
      (await oracle.verify({ agents: [{ agentId: "agent", items: oracle.reference?.items ?? [] }] })).reward
        ?.value,
    ).toBe(1);
    expect(both.world.told.join()).not.toContain("CANARY");
  });

  it("gives the agent what a tool says is wrong, and goes on (ENV-STEP-013)", async () => {
    await using both = await serveBoth();
    const session = await both.world.begin(bothTask());
    const missing = await session.call("update_ticket", { id: 9, status: "open" });
    const off = await session.call("update_ticket", { id: "one" });
    expect(
      [missing, off].map(({ message }) => message?.outcomes[0]?.observation?.items[0]?.kind),
    ).toMatchObject([
      { value: { isError: true, content: [{ kind: { value: "there is no ticket 9" } }] } },
      { value: { isError: true } },
    ]);
    expect((await session.call("read_minds", {})).error?.reason).toBe("UNKNOWN_TOOL");
    expect((await session.verify(answer("#### 2"), { final: false })).reward?.value).toBe(1);
    expect((await session.call("search_tickets", {})).error).toBeUndefined();
    expect((await session.verify(answer("#### 1"))).reward?.value).toBe(0);
  });

  it("closes both sessions with its own, and the one that it could begin where the other fails", async () => {
    await using both = await serveBoth();
    const first = await both.world.begin(bothTask());
    await expect(both.office.begin(officeTask)).rejects.toThrow("all 1 places are taken");
    await first.close();
    // A row that the verifier refuses: the place that the tools' session had is free again.
    const refused: unknown = await both.world
      .begin(bothTask(questionTask("no marker")))
      .catch((error: unknown) => error);
    expect(refused).toMatchObject({
      refused: {
        reason: "OPERATION_FAILED",
        failure: {
          kind: FailureKind.SEED_FAILED,
          retry: Retry.NEVER,
          causes: [{ boundary: Boundary.ENVIRONMENT, rpc: "touchstone.v1.EnvironmentService/Seed" }],
        },
      },
    });
    const free = await both.office.begin(officeTask);
    await free.close();
  });

  it("tells a lost verifier as a failure with the boundary as its cause, never as a number (R8, R9)", async () => {
    await using both = await serveBoth();
    const session = await both.world.begin(bothTask());
    await both.questions.server.close({ drainTimeoutMs: 0 });
    await expect(session.verify(answer("#### 2"))).rejects.toThrow("failure");
    const told = both.world.told.join();
    expect(told).toMatch(/FAILURE_KIND_(UNAVAILABLE|SESSION_LOST)/);
    expect(told).toContain("BOUNDARY_ENVIRONMENT");
    expect(told).toContain("RETRY_NEW_ATTEMPT");
  });

  it("renews the leases of both for as long as its own session lives (EPI-E9)", async () => {
    await using both = await serveBoth();
    const { clock } = both;
    const session = await both.world.begin(bothTask());
    for (let third = 0; third < 9; third += 1) {
      clock.advance(40_000);
      const renewed = clock.timer(40_000);
      expect((await session.call("search_tickets", {})).error).toBeUndefined();
      await renewed;
    }
    expect((await session.verify(answer("#### 2"))).reward?.value).toBe(1);
    await session.close();
    const timers = clock.due().filter((ms) => ms <= 40_000);
    expect(timers).toEqual([]);
  });

  it("refuses parts that it cannot be made of, and tasks that are none", async () => {
    await using both = await serveBoth();
    await using channels = new Channels();
    const context = { dial: channels.dial, clock: both.clock, servers: new Map() };
    const url = both.questions.server.url;
    await expect(facade({ tools: { url }, verifier: { url } }, context)).rejects.toThrow(
      'tools: expected an environment with tools, found "reasoning" without',
    );
    for (const tools of [{ taskId: 7, SECRET: 1 }, { taskId: { id: "nameless" } }]) {
      const privileged = hidden({ tools, verifier: json(questionTask()) });
      const refused: unknown = await both.world
        .begin({ ...bothTask(), privileged })
        .catch((error: unknown) => error);
      expect(refused).toMatchObject({
        refused: { reason: "INVALID_FIELD", fields: ["task.privileged.tools"] },
      });
    }
    expect(both.world.told.join()).not.toContain("SECRET");
  });
});
