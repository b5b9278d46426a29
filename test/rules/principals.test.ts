import { expect, describe as group, it } from "vitest";
import { z } from "zod";
import { EnvironmentService, FailureKind, Feature, type SessionDescriptor } from "../../gen/index.js";
import { defineEnvironment } from "../../servers/environment/define-environment.js";
import { environmentService } from "../../servers/environment/environment-service.js";
import { createRuntime } from "../../servers/runtime/runtime.js";
import { serve } from "../../servers/runtime/serve.js";
import { BareClient } from "../bare-client.js";
import * as fixture from "./fixture.js";

const { seed, step, verify, close, keepAlive, listTools, describe, call, say, stepOf } = fixture;
const { stepStream, fork, watchSteps } = EnvironmentService.method;

const principals = { controllerToken: "controller-0123456789" };
const as = (token: string) => ({ metadata: { authorization: `Bearer ${token}` } });
const controller = as(principals.controllerToken);

/** Two agents who may both act; every step has a reward and a note. */
const world = ({ visible = false, agents = ["a", "b"], reward = 0.5 } = {}) =>
  defineEnvironment({
    name: "gated",
    version: "1.0.0",
    reward: { timing: "step", minimum: 0, maximum: 1, visible },
    determinism: "seeded",
    agents,
    read: () => null,
    seed: () => ({ state: { steps: 0 }, next: agents }),
    tools: { look: { description: "Looks.", input: z.object({}), run: () => "a wall" } },
    step({ state, actions }) {
      state.steps += 1;
      const others = agents.filter((agentId) => !actions.some((action) => action.agentId === agentId));
      return {
        observation: "seen",
        reward,
        info: { secret: "note" },
        outcomes: Object.fromEntries(others.map((id) => [id, { observation: "for the other one" }])),
      };
    },
    verify: () => ({ reward: 1 }),
    fork: (state) => ({ ...state }),
  });

const tokenOf = (session: SessionDescriptor | undefined, agent = 0): string =>
  session?.agents[agent]?.token ?? "";

/** A server with principals and one session. */
const start = async (options: Parameters<typeof world>[0] = {}) => {
  const f = await fixture.serveWorld(world(options), { principals });
  const { message } = await f.client.unary(seed, fixture.seedRequest(), controller);
  const { session } = message ?? {};
  return { f, session, a: tokenOf(session, 0), b: tokenOf(session, 1) };
};

group("PRINCIPALS", () => {
  it("mints one token per agent, unlike all others, replayed and carried by its ways (ALL-PRIN-001, ALL-PRIN-013)", async () => {
    const { f, session } = await start();
    await using _ = f;
    const described = await f.client.unary(describe, {}, controller);
    expect(described.message?.service?.features).toContain(Feature.PRINCIPALS);
    const tokens = new Set<string>();
    for (let i = 0; i < 10; i += 1) {
      const request = fixture.seedRequest(`t${i}`);
      const { message } = await f.client.unary(seed, request, controller);
      for (const { token, toolAccesses } of message?.session?.agents ?? []) {
        tokens.add(token);
        expect(token.length).toBeGreaterThan(22);
        expect(toolAccesses).toMatchObject([{ way: { value: { bearerToken: token } } }]);
      }
    }
    expect(tokens.size).toBe(20);
    const again = await f.client.unary(seed, fixture.seedRequest(), controller);
    expect(again.delivery).toBe("replayed");
    expect(again.message?.session).toEqual(session);
  });

  it("serves nobody without, or with a wrong, credential (ALL-PRIN-006)", async () => {
    const { f } = await start();
    await using _ = f;
    for (const options of [{}, as("wrong"), { metadata: { authorization: "Basic eDp5" } }]) {
      const refused = [
        await f.client.unary(describe, {}, options),
        await f.client.unary(seed, fixture.seedRequest("x"), options),
        await f.client.stream(verify, fixture.verifyRequest(0), options),
        await f.client.unary(step, stepOf(0, [say("x", "a")]), options),
        await f.client.unary(listTools, { sessionId: "s1", agentId: "a" }, options),
        await f.client.unary(close, fixture.closeRequest(), options),
      ];
      for (const { error, instance } of refused) {
        expect(error).toMatchObject({ code: "UNAUTHENTICATED", reason: "CREDENTIALS" });
        expect(instance).toBeDefined();
      }
      const stream = f.client.duplex(stepStream, options);
      stream.write({ frame: 1n, operations: [] });
      await expect(stream.read()).rejects.toMatchObject({ code: 16 });
    }
    expect((await f.client.unary(step, stepOf(0, [say("x", "a")]), controller)).error).toBeUndefined();
  });

  it("lets an agent list its tools, step, and step in a stream (ALL-PRIN-003)", async () => {
    const { f, a } = await start();
    await using _ = f;
    const listed = await f.client.unary(listTools, { sessionId: "s1", agentId: "a" }, as(a));
    expect(listed.message?.tools.map(({ name }) => name)).toEqual(["look"]);
    expect((await f.client.unary(step, stepOf(0, [call("look", {}, "a")]), as(a))).message?.stepIndex).toBe(
      0,
    );
    const stream = f.client.duplex(stepStream, as(a));
    const { sessionId, name } = stepOf(1, []);
    const taken = { sessionId, name, actions: [say("x", "a")] };
    stream.write({ frame: 1n, operations: [{ operation: { case: "step", value: taken } }] });
    expect((await stream.read())?.answers[0]?.answer).toMatchObject({
      case: "step",
      value: { stepIndex: 1, outcomes: [{ agentId: "a" }] },
    });
    stream.write({
      frame: 2n,
      operations: [
        { operation: { case: "seed", value: fixture.seedRequest("x") } },
        { operation: { case: "close", value: fixture.closeRequest() } },
        { operation: { case: "step", value: stepOf(2, [say("x", "b")]) } },
      ],
    });
    const codes = (await stream.read())?.answers.map(({ answer }) =>
      answer.case === "error" ? answer.value.code : answer.case,
    );
    expect(codes).toEqual([7, 7, 7]);
    expect((await f.client.unary(keepAlive, { sessionId: "s1" }, controller)).error).toBeUndefined();
    stream.cancel();
  });

  it("lets an agent do nothing else, and changes nothing (ALL-PRIN-002, ALL-PRIN-012)", async () => {
    const { f, a } = await start();
    await using _ = f;
    const copy = {
      sessionId: "f1",
      sourceSessionId: "s1",
      context: fixture.seedRequest().context,
      expectedNextStepIndex: 0,
    };
    f.clock.advance(100_000);
    const refused = [
      await f.client.unary(describe, {}, as(a)),
      await f.client.unary(seed, fixture.seedRequest("x"), as(a)),
      await f.client.stream(verify, fixture.verifyRequest(0), as(a)),
      await f.client.unary(close, fixture.closeRequest(), as(a)),
      await f.client.unary(keepAlive, { sessionId: "s1" }, as(a)),
      await f.client.unary(fork, copy, as(a)),
      await f.client.stream(watchSteps, { sessionId: "s1" }, as(a)),
    ];
    for (const { error } of refused)
      expect(error).toMatchObject({ code: "PERMISSION_DENIED", reason: "PERMISSION" });
    // No lease was renewed.
    f.clock.advance(20_000);
    const ended = await f.client.unary(keepAlive, { sessionId: "s1" }, controller);
    expect(ended.error?.reason).toBe("SESSION_EXPIRED");
  });

  it("answers alike for what is another's and for what there is not, and acts for nobody else (ALL-PRIN-004, ALL-PRIN-011, field-case-133)", async () => {
    const { f, a } = await start();
    await using _ = f;
    await f.client.unary(seed, fixture.seedRequest("s2"), controller);
    const foreign = await f.client.unary(step, stepOf(0, [say("x", "a")], "s2"), as(a));
    const unknown = await f.client.unary(step, stepOf(0, [say("x", "a")], "nobody"), as(a));
    expect(foreign.error).toEqual(unknown.error);
    expect(foreign.error?.code).toBe("PERMISSION_DENIED");
    const tools = async (sessionId: string, agentId: string) =>
      (await f.client.unary(listTools, { sessionId, agentId }, as(a))).error;
    expect(await tools("s2", "a")).toEqual(await tools("nobody", "a"));
    expect(await tools("s1", "b")).toMatchObject({ reason: "PERMISSION" });
    const forOther = await f.client.unary(step, stepOf(0, [say("x", "b")]), as(a));
    const forBoth = await f.client.unary(step, stepOf(0, [say("x", "a"), say("x", "b")]), as(a));
    for (const { error } of [forOther, forBoth]) expect(error).toMatchObject({ reason: "PERMISSION" });
    expect((await f.client.unary(step, stepOf(0, [say("x", "a")]), as(a))).message?.stepIndex).toBe(0);
  });

  it("answers an agent with its own outcome only, without notes, and without reward (ALL-PRIN-007, ALL-PRIV-005)", async () => {
    const { f, a } = await start();
    await using _ = f;
    const request = stepOf(0, [say("x", "a")]);
    const own = await f.client.unary(step, request, as(a));
    expect(own.message?.outcomes).toMatchObject([{ agentId: "a", infoJson: "" }]);
    expect(own.message?.outcomes[0]?.reward).toBeUndefined();
    const whole = await f.client.unary(step, request, controller);
    expect(whole.delivery).toBe("replayed");
    expect(whole.message?.answerId).toBe(own.message?.answerId);
    expect(whole.message?.outcomes).toMatchObject([
      { agentId: "a", reward: { value: 0.5 }, infoJson: '{"secret":"note"}' },
      { agentId: "b" },
    ]);
  });

  it("tells an agent no reward in a failure either, and no details (ALL-PRIN-007)", async () => {
    const { f, a } = await start({ reward: 7.25 });
    await using _ = f;
    const request = stepOf(0, [say("x", "a")]);
    const seen = (error: unknown): string =>
      JSON.stringify(error, (_key, value: unknown) => (typeof value === "bigint" ? String(value) : value));
    const { error } = await f.client.unary(step, request, as(a));
    expect(error?.failure).toMatchObject({ kind: FailureKind.INVALID_REWARD, detailsJson: "" });
    expect(seen(error)).not.toContain("7.25");
    const stream = f.client.duplex(stepStream, as(a));
    stream.write({ frame: 1n, operations: [{ operation: { case: "step", value: request } }] });
    const answer = (await stream.read())?.answers[0]?.answer;
    expect(answer?.case).toBe("error");
    const details = answer?.case === "error" ? answer.value.details : [];
    expect(Buffer.concat(details.map(({ value }) => value)).includes("7.25")).toBe(false);
    expect(answer?.case === "error" && answer.value.message).not.toContain("7.25");
    stream.end();
    const whole = await f.client.unary(step, request, controller);
    expect(whole.error?.failure).toMatchObject({
      reason: expect.stringContaining("7.25"),
      detailsJson: expect.stringContaining("7.25"),
    });
  });

  it("tells an agent a bad reward where rewards are visible, but no details", async () => {
    const { f, a } = await start({ visible: true, reward: 7.25 });
    await using _ = f;
    const { error } = await f.client.unary(step, stepOf(0, [say("x", "a")]), as(a));
    expect(error?.failure).toMatchObject({ reason: expect.stringContaining("7.25"), detailsJson: "" });
  });

  it("shows an agent its rewards where the environment declares them visible (ENV-DESC-010)", async () => {
    const { f, a } = await start({ visible: true, agents: ["agent"] });
    await using _ = f;
    const own = await f.client.unary(step, stepOf(0, [say("x")]), as(a));
    expect(own.message?.outcomes).toMatchObject([{ agentId: "agent", reward: { value: 0.5 }, infoJson: "" }]);
  });

  it("ends tokens with the final Verify, Close and expiry; a Verify that is not final ends none (ALL-PRIN-005, -009, -010)", async () => {
    const { f, a, b } = await start();
    await using _ = f;
    const acts = async (token: string, sessionId = "s1") =>
      (await f.client.unary(listTools, { sessionId, agentId: "a" }, as(token))).error?.code;
    const judge = async (index: number, final: boolean) =>
      (
        await f.client.stream(
          verify,
          { ...fixture.verifyRequest(index, { final }), submission: {} },
          controller,
        )
      ).error;
    expect(await judge(0, false)).toBeUndefined();
    expect(await acts(a)).toBeUndefined();
    const stream = f.client.duplex(stepStream, as(a));
    const taken = { operation: { case: "step" as const, value: stepOf(0, [say("x", "a")]) } };
    stream.write({ frame: 1n, operations: [taken] });
    expect((await stream.read())?.answers[0]?.answer.case).toBe("step");
    expect(await judge(1, true)).toBeUndefined();
    expect(await acts(a)).toBe("UNAUTHENTICATED");
    expect((await f.client.unary(step, stepOf(1, [say("x", "b")]), as(b))).error?.code).toBe(
      "UNAUTHENTICATED",
    );
    stream.write({ frame: 2n, operations: [taken] });
    expect((await stream.read())?.answers[0]?.answer).toMatchObject({ case: "error", value: { code: 16 } });
    const second = await f.client.unary(seed, fixture.seedRequest("s2"), controller);
    expect(await acts(tokenOf(second.message?.session), "s2")).toBeUndefined();
    await f.client.unary(close, fixture.closeRequest("s2"), controller);
    expect(await acts(tokenOf(second.message?.session), "s2")).toBe("UNAUTHENTICATED");
    const third = await f.client.unary(seed, fixture.seedRequest("s3"), controller);
    f.clock.advance(120_000);
    expect(await acts(tokenOf(third.message?.session), "s3")).toBe("UNAUTHENTICATED");
    stream.cancel();
  });

  it("gives a fork tokens of its own (ENV-FORK-004)", async () => {
    const { f, a } = await start();
    await using _ = f;
    const copy = {
      sessionId: "f1",
      sourceSessionId: "s1",
      context: fixture.seedRequest().context,
      expectedNextStepIndex: 0,
    };
    const { message } = await f.client.unary(fork, copy, controller);
    const token = tokenOf(message?.session);
    expect(token).not.toBe(a);
    expect(message?.session?.agents[0]?.toolAccesses).toMatchObject([
      { way: { value: { bearerToken: token, sessionId: "f1" } } },
    ]);
    const stepped = async (sessionId: string, by: string) =>
      (await f.client.unary(step, stepOf(0, [say("x", "a")], sessionId), as(by))).error?.reason;
    expect(await stepped("f1", a)).toBe("PERMISSION");
    expect(await stepped("s1", token)).toBe("PERMISSION");
    expect(await stepped("f1", token)).toBeUndefined();
    expect(await stepped("s1", a)).toBeUndefined();
  });

  it("is needed off loopback (ALL-PRIN-008)", async () => {
    const open = createRuntime();
    const off = { host: "0.0.0.0", services: [environmentService(world(), open)] };
    await expect(serve({ ...off, runtime: open })).rejects.toThrow(/0\.0\.0\.0 needs feature PRINCIPALS/);
    const closed = createRuntime({ principals });
    await using server = await serve({
      runtime: closed,
      host: "0.0.0.0",
      services: [environmentService(world(), closed)],
    });
    const client = new BareClient(server.url);
    expect((await client.unary(describe, {})).error?.code).toBe("UNAUTHENTICATED");
    expect((await client.unary(describe, {}, controller)).error).toBeUndefined();
    client.close();
  });
});
