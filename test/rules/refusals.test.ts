import { expect, describe as group, it } from "vitest";
import { FailureKind, Placement, Role } from "../../gen/index.js";
import * as fixture from "./fixture.js";

const { seed, step, verify, close, listTools } = fixture;

group("R1, R4: ids and refusals", () => {
  it("takes every id of the grammar unchanged and refuses all others by name", async () => {
    await using f = await fixture.startFixture();
    for (const id of ["x", "a.b_c-d", "9", "A".repeat(128)]) {
      expect((await f.client.unary(seed, fixture.seedRequest(id))).message?.session?.sessionId).toBe(id);
    }
    for (const id of ["", "../x", "a/b", "-x", "A".repeat(129), "ä", "a b"]) {
      const refused = await f.client.unary(seed, fixture.seedRequest(id));
      expect(refused.error).toMatchObject({
        code: "INVALID_ARGUMENT",
        reason: "INVALID_FIELD",
        fields: ["session_id"],
      });
    }
  });

  it("refuses a rollout_id that is too long or looks like an attempt's key", async () => {
    await using f = await fixture.startFixture();
    const rollout = (rolloutId: string, sessionId: string) => ({
      ...fixture.seedRequest(sessionId),
      context: { episodeId: { rolloutId, attempt: 0 } },
    });
    expect((await f.client.unary(seed, rollout("r-a", "a"))).error).toBeUndefined();
    expect((await f.client.unary(seed, rollout("r".repeat(96), "b"))).error).toBeUndefined();
    for (const bad of ["r-a1", "r".repeat(97), ""]) {
      const refused = await f.client.unary(seed, rollout(bad, "c"));
      expect(refused.error?.reason).toBe("INVALID_FIELD");
      expect(refused.error?.fields[0]).toMatch(/^context\.episode_id/);
    }
  });

  it("names the missing field of a Seed", async () => {
    await using f = await fixture.startFixture();
    const { context, source } = fixture.seedRequest();
    const noTask = await f.client.unary(seed, { sessionId: "s1", context });
    expect(noTask.error).toMatchObject({ reason: "INVALID_FIELD", fields: ["source"] });
    const noContext = await f.client.unary(seed, { sessionId: "s1", source });
    expect(noContext.error).toMatchObject({ reason: "INVALID_FIELD", fields: ["context"] });
    const badTask = await f.client.unary(
      seed,
      fixture.seedRequest("s1", {
        privileged: {
          $typeName: "touchstone.v1.TypedBytes",
          data: Buffer.from("{}"),
          mediaType: "application/json",
        },
      }),
    );
    expect(badTask.error).toMatchObject({ reason: "INVALID_FIELD", fields: ["task.privileged.canary"] });
    const badRow = await f.client.unary(
      seed,
      fixture.seedRequest("s1", {
        row: {
          $typeName: "touchstone.v1.TaskRow",
          data: Buffer.from("{}"),
          mediaType: "application/json",
          rowSchema: "gsm8k",
        },
      }),
    );
    expect(badRow.error).toMatchObject({ reason: "INVALID_FIELD", fields: ["task.row.row_schema"] });
  });

  it("refuses requirements that a world without a box cannot meet, each by name", async () => {
    await using f = await fixture.startFixture();
    const request = fixture.seedRequest("s1", {
      requirements: {
        $typeName: "touchstone.v1.TaskRequirements",
        placement: Placement.SHARED_SANDBOX,
        image: "python",
        agents: ["a", "b"],
      },
    });
    const refused = await f.client.unary(seed, {
      ...request,
      agentRequirements: [{ agentId: "agent", requirements: { ports: [8080, 9090] } }],
    });
    expect(refused.error).toMatchObject({ code: "FAILED_PRECONDITION", reason: "UNSATISFIED_REQUIREMENT" });
    expect(refused.error?.fields).toEqual([
      "task.requirements.placement",
      "task.requirements.image",
      "task.requirements.agents",
      "agent_requirements[0].requirements.ports[0]",
      "agent_requirements[0].requirements.ports[1]",
    ]);
    const provider = await f.client.unary(seed, { ...fixture.seedRequest(), sandboxProvider: "boxes" });
    expect(provider.error).toMatchObject({
      code: "NOT_FOUND",
      reason: "NAME_UNKNOWN",
      fields: ["sandbox_provider"],
    });
  });

  it("refuses uses of features that are not declared", async () => {
    await using f = await fixture.startFixture();
    const byId = await f.client.unary(seed, {
      ...fixture.seedRequest(),
      source: { case: "taskId", value: { id: "t1" } },
    });
    expect(byId.error).toMatchObject({
      code: "UNIMPLEMENTED",
      reason: "FEATURE_UNSUPPORTED",
      metadata: { feature: "TASK_LISTING" },
    });
    const stateless = await f.client.stream(verify, {
      target: {
        case: "stateless",
        value: { verificationId: "v", context: { episodeId: fixture.episodeId() }, task: fixture.task() },
      },
    });
    expect(stateless.error?.metadata).toEqual({ feature: "STATELESS_VERIFY" });
    const { fork } = (await import("../../gen/index.js")).EnvironmentService.method;
    expect((await f.client.unary(fork, {})).error?.code).toBe("UNIMPLEMENTED");
  });

  it("refuses malformed steps by path, and the next valid one runs as if nothing had happened (field-case-011)", async () => {
    await using f = await fixture.startFixture();
    await f.client.unary(seed, fixture.seedRequest());
    const call = (change: object) => ({
      ...fixture.stepRequest(0),
      actions: [
        {
          agentId: "agent",
          kind: {
            case: "toolCall" as const,
            value: { callId: "1", name: "fail", argumentsJson: "{}", ...change },
          },
        },
      ],
    });
    const refused = async (request: object) => (await f.client.unary(step, request)).error;
    expect(await refused({ sessionId: "s1", actions: [fixture.say("x")] })).toMatchObject({
      fields: ["step_index"],
    });
    expect(await refused(call({ argumentsJson: "[1]" }))).toMatchObject({
      fields: ["actions[0].tool_call.arguments_json"],
    });
    expect(await refused(call({ argumentsJson: '{"a' }))).toMatchObject({
      fields: ["actions[0].tool_call.arguments_json"],
    });
    expect(await refused(call({ incomplete: true }))).toMatchObject({
      fields: ["actions[0].tool_call.incomplete"],
    });
    expect(await refused(call({ name: "rm" }))).toMatchObject({
      reason: "UNKNOWN_TOOL",
      fields: ["actions[0].tool_call.name"],
    });
    expect(
      await refused({ ...fixture.stepRequest(0), actions: [{ ...fixture.say("x"), agentId: "other" }] }),
    ).toMatchObject({ fields: ["actions[0].agent_id"] });
    expect(
      await refused({
        ...fixture.stepRequest(0),
        actions: [{ agentId: "agent", kind: { case: "content", value: {} } }],
      }),
    ).toMatchObject({ reason: "INVALID_FIELD", fields: ["actions[0]"] });
    const good = await f.client.unary(step, fixture.stepRequest(0));
    expect(good.message).toMatchObject({ stepIndex: 0, sequence: 1n });
    expect(f.controls.counts.step).toBe(1);
  });

  it("gives a tool that ran and failed as an observation; only a crash fails the session", async () => {
    await using f = await fixture.startFixture();
    await f.client.unary(seed, fixture.seedRequest());
    const call = (index: number, how: string) => ({
      ...fixture.stepRequest(index),
      actions: [
        {
          agentId: "agent",
          kind: {
            case: "toolCall" as const,
            value: { callId: "c", name: "fail", argumentsJson: JSON.stringify({ how }) },
          },
        },
      ],
    });
    const told = await f.client.unary(step, call(0, "told"));
    expect(told.message?.outcomes[0]?.observation?.items[0]?.kind).toMatchObject({
      case: "toolResult",
      value: { callId: "c", isError: true, content: [{ kind: { value: "the tool could not" } }] },
    });
    const offSchema = await f.client.unary(step, call(1, "neither"));
    expect(offSchema.message?.outcomes[0]?.observation?.items[0]?.kind).toMatchObject({
      value: { isError: true },
    });
    const crashed = await f.client.unary(step, call(2, "crash"));
    expect(crashed.error).toMatchObject({ code: "INTERNAL", failure: { kind: FailureKind.INTERNAL } });
    expect(JSON.stringify(crashed.error)).not.toContain("/secret/path");
  });

  it("refuses an item of a submission that cannot be read by its path, never skips it (field-case-033)", async () => {
    await using f = await fixture.startFixture();
    await f.client.unary(seed, fixture.seedRequest());
    const agent = (change: object) => ({
      ...fixture.verifyRequest(0),
      submission: { agents: [{ agentId: "agent", ...change }] },
    });
    const refused = async (change: object) => (await f.client.stream(verify, agent(change))).error?.fields;
    expect(await refused({ items: [{ itemId: "untyped" }] })).toEqual(["submission.agents[0].items[0].kind"]);
    expect(
      await refused({ items: [{ kind: { case: "chatMessage", value: { role: Role.UNSPECIFIED } } }] }),
    ).toEqual(["submission.agents[0].items[0].chat_message.role"]);
    const image = { kind: { case: "blob", value: { data: new Uint8Array([1]), mediaType: "image/png" } } };
    expect(
      await refused({
        items: [{ kind: { case: "chatMessage", value: { role: Role.ASSISTANT, content: [image] } } }],
      }),
    ).toEqual(["submission.agents[0].items[0].chat_message.content[0]"]);
    expect(await refused({ itemsRef: { sha256: new Uint8Array(32), sizeBytes: 5n } })).toEqual([
      "submission.agents[0].items_ref",
    ]);
    const parts = {
      content: [{ kind: { case: "text", value: "4" } }, { kind: { case: "text", value: "2" } }],
      role: Role.ASSISTANT,
    };
    const judged = await f.client.stream(
      verify,
      agent({
        items: [{ kind: { case: "chatMessage", value: parts } }, { kind: { case: "reasoning", value: {} } }],
      }),
    );
    expect(
      JSON.stringify(judged.messages.at(-1)?.event, (_k, v: unknown) =>
        typeof v === "bigint" ? String(v) : v,
      ),
    ).toContain('\\"answer\\":\\"42\\"');
  });

  it("keeps 64-bit seeds exact and privileged data to itself (field-case-008, field-case-127)", async () => {
    await using f = await fixture.startFixture();
    const seeded = await f.client.unary(seed, { ...fixture.seedRequest(), seed: 9007199254740993n });
    expect(seeded.message?.session?.seed).toBe(9007199254740993n);
    const all = [
      seeded.message,
      (await f.client.unary(listTools, { sessionId: "s1", agentId: "agent" })).message,
      (await f.client.unary(step, fixture.stepRequest(0))).message,
      (await f.client.stream(verify, fixture.verifyRequest(0))).messages,
      (await f.client.unary(close, fixture.closeRequest())).message,
    ];
    const text = JSON.stringify(all, (_key, value: unknown) =>
      typeof value === "bigint" ? String(value) : value,
    );
    expect(text).not.toContain(fixture.canary);
  });

  it("gives no number where there is none: NaN, infinity and rewards out of range (field-case-029)", async () => {
    await using f = await fixture.startFixture();
    await f.client.unary(seed, fixture.seedRequest());
    for (const [i, reward] of [Number.NaN, Number.POSITIVE_INFINITY, -0.2, 1.7].entries()) {
      f.controls.reward = reward;
      const judged = await f.client.stream(verify, fixture.verifyRequest(i, { final: false }));
      expect(judged.messages.at(-1)?.event).toMatchObject({
        value: { outcome: { case: "failure", value: { kind: FailureKind.INVALID_REWARD } } },
      });
    }
    f.controls.reward = 0;
    const zero = await f.client.stream(verify, fixture.verifyRequest(4));
    expect(zero.messages.at(-1)?.event).toMatchObject({
      value: { outcome: { case: "verdict", value: { reward: { value: 0 } } } },
    });
  });
});
