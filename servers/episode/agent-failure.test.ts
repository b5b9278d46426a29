import { Code } from "@connectrpc/connect";
import { expect, describe as group, it } from "vitest";
import { Boundary, FailureKind, OnAgentFailure, Retry, Role, Stage } from "../../gen/index.js";
import { bareStatus } from "../../test/scripted-peer.js";
import { Refusal } from "../runtime/refusal.js";
import { recorded } from "./fixtures/recorded-failure.js";
import { hangingTurn, say, seeded, turn } from "./fixtures/scripted-cast.js";
import { type Ran, ServedEpisodes } from "./fixtures/served-episodes.js";

group("What an agent's failure does", () => {
  const broken = () =>
    turn(
      { case: "item", value: say(Role.ASSISTANT, "half", "i1") },
      {
        case: "failed",
        value: {
          usage: { inputTokens: 3n, modelCalls: 1 },
          failure: { kind: FailureKind.HARNESS_CRASHED, retry: Retry.NEXT_INDEX, reason: "it broke" },
        },
      },
    );

  async function runBroken(onAgentFailure: OnAgentFailure): Promise<{ episodes: ServedEpisodes; ran: Ran }> {
    const episodes = await ServedEpisodes.start();
    episodes.agent.script.activate = broken;
    episodes.agent.script.close = async () => ({ receipt: { cleanupConfirmed: true } });
    return { episodes, ran: await episodes.run({ onAgentFailure }) };
  }

  it("FAIL: it is the episode's, with what was known when it happened (EPI-E6-006, EPI-OUT-002)", async () => {
    for (const policy of [OnAgentFailure.UNSPECIFIED, OnAgentFailure.FAIL]) {
      const { episodes, ran } = await runBroken(policy);
      await using _ = episodes;
      // NEXT_INDEX is no attempt of an episode: another attempt may help.
      expect(ran.failure).toMatchObject({ kind: FailureKind.HARNESS_CRASHED, retry: Retry.NEW_ATTEMPT });
      expect(ran.outcome).toMatchObject({
        agentEnds: [{ agentId: "agent", activations: 1, usage: { inputTokens: 3n, modelCalls: 1 } }],
        task: { digest: "sha256:1" },
      });
      expect(episodes.environment.count("verify")).toBe(0);
      const { records } = await episodes.trajectory();
      expect(records.map(({ record }) => record.case)).toEqual(["item", "item", "call"]);
    }
  });

  it("VERIFY: the work is verified, the failure stands in agent_end (EPI-AGF-001)", async () => {
    const { episodes, ran } = await runBroken(OnAgentFailure.VERIFY);
    await using _ = episodes;
    expect(ran.verdict).toMatchObject({ reward: { value: 0.5 } });
    expect(ran.verdict?.masked).toBeUndefined();
    expect(ran.outcome?.agentEnds).toMatchObject([
      { stopReason: 0, failure: { kind: FailureKind.HARNESS_CRASHED, reason: "it broke" } },
    ]);
    const [verify] = episodes.environment.requests("verify");
    expect(verify?.submission?.agents[0]).toMatchObject({
      items: [{ itemId: "i1" }],
      agentEnd: { failure: { kind: FailureKind.HARNESS_CRASHED } },
    });
  });

  it("VERIFY_MASKED: the verdict is masked with a reason, and keeps its reward (EPI-AGF-002)", async () => {
    const { episodes, ran } = await runBroken(OnAgentFailure.VERIFY_MASKED);
    await using _ = episodes;
    expect(ran.verdict).toMatchObject({
      reward: { value: 0.5 },
      masked: { reason: "agent_failure", explanation: "agent agent failed: it broke" },
    });
  });

  it("VERIFY: an agent that is lost is an agent's failure too", async () => {
    await using episodes = await ServedEpisodes.start();
    episodes.agent.script.activate = () => {
      throw bareStatus(Code.Unavailable);
    };
    const { verdict: scored, outcome } = await episodes.run({ onAgentFailure: OnAgentFailure.VERIFY });
    expect(scored).toBeDefined();
    expect(outcome?.agentEnds[0]?.failure?.kind).toBe(FailureKind.UNAVAILABLE);
  });

  it("VERIFY: so is one whose session or gateway is gone in the middle of its turn", async () => {
    for (const peer of ["agent", "model"] as const) {
      await using episodes = await ServedEpisodes.start();
      episodes.agent.script.activate = (_request, call) => hangingTurn(call);
      episodes[peer].script.keepAlive = async () => {
        throw new Refusal("SESSION_UNKNOWN", "gone");
      };
      const running = episodes.run({ onAgentFailure: OnAgentFailure.VERIFY });
      await episodes.agent.arrived("activate");
      await episodes.pass(10_000);
      const { verdict: scored, outcome } = await running;
      expect(scored).toBeDefined();
      expect(outcome?.agentEnds).toMatchObject([{ failure: { kind: FailureKind.SESSION_LOST } }]);
    }
  });

  it("a lent box stays with its owner: the environment's Close is its only end (field-case-021)", async () => {
    await using episodes = await ServedEpisodes.start();
    const sandbox = { endpoint: { url: "http://127.0.0.1:1" }, sandboxId: "box", level: 2, workdir: "/work" };
    episodes.environment.script.seed = async (request) =>
      seeded(request, { agents: [{ agentId: "agent", sandbox }] });
    episodes.agent.script.activate = broken;
    const { verdict: scored } = await episodes.run({ onAgentFailure: OnAgentFailure.VERIFY });
    expect(scored).toBeDefined();
    expect(episodes.agent.requests("open")[0]?.sandbox).toMatchObject(sandbox);
    expect(episodes.order.slice(-5)).toEqual([
      ...[
        "agent.close",
        "model.readCapture",
        "model.closeGateway",
        "environment.verify",
        "environment.close",
      ],
    ]);
  });

  it("a failure of Open is the episode's, whatever the policy", async () => {
    await using episodes = await ServedEpisodes.start();
    const failed = recorded({
      kind: FailureKind.TOOL_UNREACHABLE,
      retry: Retry.NEW_ATTEMPT,
      reason: "no way",
    });
    episodes.agent.script.open = async () => {
      throw failed;
    };
    const { failure } = await episodes.run({ onAgentFailure: OnAgentFailure.VERIFY });
    expect(failure).toMatchObject({
      kind: FailureKind.TOOL_UNREACHABLE,
      retry: Retry.NEW_ATTEMPT,
      stage: Stage.OPEN,
      agentId: "agent",
      reason: "no way",
      causes: [
        {
          boundary: Boundary.AGENT,
          kind: FailureKind.TOOL_UNREACHABLE,
          rpc: "touchstone.v1.AgentSessionService/Open",
        },
      ],
    });
    // EPI-E6-014: passed on; the driver starts no attempt itself.
    expect(episodes.environment.count("seed")).toBe(1);
  });
});
