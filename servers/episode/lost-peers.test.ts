import { Code } from "@connectrpc/connect";
import { expect, describe as group, it } from "vitest";
import { Boundary, Delivery, FailureKind, Retry, Stage } from "../../gen/index.js";
import { bareStatus } from "../../test/scripted-peer.js";
import { Refusal } from "../runtime/refusal.js";
import {
  agentScript,
  answered,
  environmentScript,
  hangingTurn,
  turn,
  verdict,
  verified,
} from "./fixtures/scripted-cast.js";
import { ServedEpisodes } from "./fixtures/served-episodes.js";

type PeerName = "environment" | "agent" | "model";

/** Every call of an episode that may fail it, where its peer stands, and its stage. */
const stages: [peer: PeerName, rpc: string, stage: Stage, boundary: Boundary][] = [
  ["environment", "describe", Stage.CHECK, Boundary.ENVIRONMENT],
  ["agent", "describe", Stage.CHECK, Boundary.AGENT],
  ["model", "describe", Stage.CHECK, Boundary.MODEL],
  ["environment", "seed", Stage.SEED, Boundary.ENVIRONMENT],
  ["model", "openGateway", Stage.OPEN_GATEWAY, Boundary.MODEL],
  ["agent", "open", Stage.OPEN, Boundary.AGENT],
  ["agent", "activate", Stage.ACTIVATE, Boundary.AGENT],
  ["environment", "verify", Stage.VERIFY, Boundary.ENVIRONMENT],
];

/** Lets an rpc throw. */
function fails(episodes: ServedEpisodes, peer: PeerName, rpc: string, error: unknown): void {
  const script = episodes[peer].script as Record<string, unknown>;
  script[rpc] = () => {
    throw error;
  };
}

const asked = (episodes: ServedEpisodes, peer: PeerName, rpc: string): unknown[] =>
  episodes.seen.filter((call) => call.peer === peer && call.rpc === rpc).map(({ request }) => request);

group("A peer that is lost is worth another attempt, with cause and delivery (EPI-E6-001)", () => {
  for (const [peer, rpc, stage, boundary] of stages) {
    it(`${rpc} of the ${peer}: without a word for ever (EPI-E6-003, EPI-E6-005, field-case-036)`, async () => {
      await using episodes = await ServedEpisodes.start();
      fails(episodes, peer, rpc, bareStatus(Code.Unavailable, "at /srv/app.py line 3"));
      const { failure, outcome } = await episodes.run();
      expect(failure).toMatchObject({
        kind: FailureKind.UNAVAILABLE,
        retry: Retry.NEW_ATTEMPT,
        stage,
        causes: [{ boundary, code: Code.Unavailable, delivery: Delivery.POSSIBLY_DELIVERED }],
      });
      expect(failure?.causes[0]?.rpc).toMatch(new RegExp(`Service/${rpc}$`, "i"));
      // It was asked again, under the same name, to learn.
      const requests = asked(episodes, peer, rpc);
      expect(requests.length).toBeGreaterThan(1);
      for (const request of requests) expect(request).toEqual(requests[0]);
      // field-case-127: what a library says of an error is passed on to nobody.
      expect(failure?.reason).not.toContain("app.py");
      expect(outcome?.stopReason).toBe("");
    });
  }

  it("a crash in the middle of a turn: the rest is still cleaned up, the work is told (EPI-OUT-002)", async () => {
    await using episodes = await ServedEpisodes.start();
    episodes.agent.script.activate = (_request, call) => hangingTurn(call);
    let cleaning: () => void = () => {};
    const cleansUp = new Promise<void>((resolve) => {
      cleaning = resolve;
    });
    const running = episodes.run(
      {},
      {
        onEvent({ event }) {
          if (event.case === "stage" && event.value.stage === Stage.CLEAN_UP) cleaning();
        },
      },
    );
    await episodes.agent.arrived("activate");
    await episodes.agent.crash();
    // Its Close finds nobody: that clean-up takes its whole time.
    await cleansUp;
    await episodes.pass(30_000);
    const { failure, outcome } = await running;
    expect(failure).toMatchObject({
      kind: FailureKind.UNAVAILABLE,
      retry: Retry.NEW_ATTEMPT,
      stage: Stage.ACTIVATE,
    });
    expect(outcome?.cleanUps.map(({ released }) => released)).toEqual([false, true, true]);
    expect(outcome?.agentEnds).toMatchObject([{ agentId: "agent", activations: 1 }]);
    expect(outcome?.verifierState.length).toBeGreaterThan(0);
  });

  it("one lost reply of each call is no failure at all", async () => {
    await using episodes = await ServedEpisodes.start();
    const lost = new Set<string>();
    for (const [peer, rpc] of stages) {
      const script = episodes[peer].script as Record<string, (...of: unknown[]) => unknown>;
      const own = script[rpc];
      script[rpc] = (...of) => {
        if (!lost.has(`${peer}.${rpc}`)) {
          lost.add(`${peer}.${rpc}`);
          throw bareStatus(Code.Unavailable);
        }
        return own?.(...of);
      };
    }
    expect((await episodes.run()).verdict?.reward?.value).toBe(0.5);
    expect(lost.size).toBe(8);
    expect(
      new Set(episodes.agent.requests("activate").map(({ activationIndex }) => activationIndex)),
    ).toEqual(new Set([0]));
    expect(new Set(episodes.environment.requests("seed").map(({ sessionId }) => sessionId)).size).toBe(1);
  });
});

group("Anything unexpected is terminal (EPI-E6-002, field-case-035)", () => {
  for (const code of [Code.InvalidArgument, Code.PermissionDenied, Code.Unimplemented, Code.Unknown]) {
    it(`a bare ${Code[code]}`, async () => {
      await using episodes = await ServedEpisodes.start();
      fails(episodes, "environment", "seed", bareStatus(code));
      expect((await episodes.run()).failure).toMatchObject({
        kind: FailureKind.PROTOCOL_VIOLATION,
        retry: Retry.NEVER,
        stage: Stage.SEED,
        causes: [{ boundary: Boundary.ENVIRONMENT, code }],
      });
    });
  }

  it("an answer that cannot be read, with its delivery", async () => {
    await using episodes = await ServedEpisodes.start();
    episodes.environment.garbled.add("touchstone.v1.SeedResponse");
    expect((await episodes.run()).failure).toMatchObject({
      kind: FailureKind.PROTOCOL_VIOLATION,
      retry: Retry.NEVER,
      causes: [{ boundary: Boundary.ENVIRONMENT, code: Code.Internal, delivery: Delivery.DELIVERED }],
    });
    expect(episodes.environment.count("close")).toBe(1);
  });

  it("the agent's own typed error is the agent's, terminal by its own word; sibling episodes go on (EPI-RUN-008)", async () => {
    await using episodes = await ServedEpisodes.start();
    episodes.agent.script.activate = (request, _call) =>
      request.sessionId.startsWith("r0.")
        ? turn({
            case: "failed",
            value: { failure: { kind: FailureKind.HARNESS_CRASHED, retry: Retry.NEVER, reason: "it broke" } },
          })
        : answered();
    const ran = await Promise.all(
      Array.from({ length: 8 }, (_, i) => episodes.run({ context: { episodeId: { rolloutId: `r${i}` } } })),
    );
    expect(ran.map(({ verdict: scored }) => scored !== undefined)).toEqual([false, ...Array(7).fill(true)]);
    expect(ran[0]?.failure).toMatchObject({
      kind: FailureKind.HARNESS_CRASHED,
      retry: Retry.NEVER,
      stage: Stage.ACTIVATE,
      agentId: "agent",
      reason: "it broke",
      causes: [
        {
          boundary: Boundary.AGENT,
          rpc: "touchstone.v1.AgentSessionService/Activate",
          delivery: Delivery.DELIVERED,
        },
      ],
    });
  });
});

group("Refusals", () => {
  it("with RetryInfo are repeated in place (EPI-E6-004)", async () => {
    await using episodes = await ServedEpisodes.start();
    const { seed } = environmentScript();
    let full = 2;
    episodes.environment.script.seed = async (request, call) => {
      full -= 1;
      if (full >= 0) throw new Refusal("CAPACITY", "full", { retryAfterMs: 1 });
      return (await seed?.(request, call)) ?? {};
    };
    expect((await episodes.run()).verdict).toBeDefined();
    expect(episodes.environment.count("seed")).toBe(3);
  });

  it("with RetryInfo are retryable where that lies beyond the phase's bound (EPI-E6-008, field-case-040)", async () => {
    await using episodes = await ServedEpisodes.start({ timeouts: { seedMs: 5000 } });
    fails(episodes, "environment", "seed", new Refusal("CAPACITY", "full", { retryAfterMs: 20_000 }));
    expect((await episodes.run()).failure).toMatchObject({
      kind: FailureKind.UNAVAILABLE,
      retry: Retry.NEW_ATTEMPT,
      retryAfter: { seconds: 20n },
      stage: Stage.SEED,
      causes: [
        { boundary: Boundary.ENVIRONMENT, code: Code.ResourceExhausted, delivery: Delivery.DELIVERED },
      ],
    });
    expect(episodes.environment.count("seed")).toBe(1);
    expect(episodes.environment.count("close")).toBe(1);
  });

  it("with RetryInfo for ever end with the phase's bound", async () => {
    await using episodes = await ServedEpisodes.start({ timeouts: { seedMs: 5000 } });
    fails(episodes, "environment", "seed", new Refusal("CAPACITY", "full", { retryAfterMs: 1 }));
    const running = episodes.run();
    await episodes.environment.arrived("seed", 2);
    await episodes.pass(6000);
    expect((await running).failure).toMatchObject({ kind: FailureKind.TIMEOUT, retry: Retry.NEW_ATTEMPT });
  });

  it("of a task that cannot be made are terminal and passed on by name (EPI-E6-015, EPI-RUN-011)", async () => {
    for (const reason of ["UNSATISFIED_REQUIREMENT", "WRONG_ENVIRONMENT"] as const) {
      await using episodes = await ServedEpisodes.start();
      const violations = [{ field: "task.requirements.image", description: "no such image" }];
      fails(episodes, "environment", "seed", new Refusal(reason, "no such image", { violations }));
      const { failure } = await episodes.run();
      expect(failure).toMatchObject({ kind: FailureKind.SEED_FAILED, retry: Retry.NEVER, stage: Stage.SEED });
      expect(failure?.reason).toContain(`refused ${reason}: no such image`);
      expect(JSON.parse(failure?.detailsJson ?? "")).toEqual({
        refused: reason,
        fields: ["task.requirements.image"],
      });
    }
  });
});

group("What was opened and is gone is SESSION_LOST, retryable", () => {
  for (const reason of ["SESSION_UNKNOWN", "SESSION_EXPIRED"] as const) {
    for (const [peer, rpc] of [
      ["agent", "activate"],
      ["environment", "verify"],
    ] as const) {
      it(`${reason} of ${rpc} (EPI-E6-009, EPI-E6-010)`, async () => {
        await using episodes = await ServedEpisodes.start();
        fails(episodes, peer, rpc, new Refusal(reason, "gone"));
        expect((await episodes.run()).failure).toMatchObject({
          kind: FailureKind.SESSION_LOST,
          retry: Retry.NEW_ATTEMPT,
          causes: [{ kind: FailureKind.SESSION_LOST, delivery: Delivery.DELIVERED }],
        });
      });
    }

    for (const peer of ["agent", "environment", "model"] as const) {
      it(`${reason} of the ${peer}'s KeepAlive, in the middle of a turn (EPI-E9-001, EPI-E9-002)`, async () => {
        await using episodes = await ServedEpisodes.start();
        episodes.agent.script.activate = (_request, call) => hangingTurn(call);
        fails(episodes, peer, "keepAlive", new Refusal(reason, "gone"));
        const running = episodes.run();
        await episodes.agent.arrived("activate");
        await episodes.pass(10_000);
        const { failure } = await running;
        expect(failure).toMatchObject({
          kind: FailureKind.SESSION_LOST,
          retry: Retry.NEW_ATTEMPT,
          stage: Stage.ACTIVATE,
        });
        expect(episodes.environment.count("verify")).toBe(0);
        expect(episodes.environment.count("close")).toBe(1);
      });
    }
  }

  it("a restart that lost its records: another instance answers (EPI-E6-011)", async () => {
    for (const [peer, rpc] of [
      ["agent", "activate"],
      ["environment", "verify"],
    ] as const) {
      await using episodes = await ServedEpisodes.start();
      const { open } = agentScript();
      // The instance changes once the agent is open.
      episodes.agent.script.open = async (request, call) => {
        episodes[peer].instanceId = peer === "agent" ? undefined : "i-after";
        return (await open?.(request, call)) ?? {};
      };
      if (peer === "agent") {
        episodes.agent.script.activate = (_request, call) => {
          call.responseHeader.set("touchstone-instance", "i-after");
          return answered();
        };
      }
      const { failure } = await episodes.run();
      expect(failure).toMatchObject({ kind: FailureKind.SESSION_LOST, retry: Retry.NEW_ATTEMPT });
      expect(failure?.causes[0]?.rpc).toMatch(new RegExp(`/${rpc}$`, "i"));
      // The clean-up is content with whoever answers.
      expect(episodes[peer].count("close")).toBe(1);
    }
  });
});

group("Wrong answers of a peer are no verdict and no crash of the driver", () => {
  const wrong: Record<string, (episodes: ServedEpisodes) => void> = {
    "Seed without a session"(episodes) {
      episodes.environment.script.seed = async () => ({ answerId: "s" });
    },
    "a session without an agent"(episodes) {
      episodes.environment.script.seed = async () => ({ session: { sessionId: "x" } });
    },
    "a session of another agent"(episodes) {
      episodes.environment.script.seed = async () => ({ session: { agents: [{ agentId: "stranger" }] } });
    },
    "a session of two agents"(episodes) {
      episodes.environment.script.seed = async () => ({
        session: { agents: [{ agentId: "agent" }, { agentId: "other" }] },
      });
    },
    "Verify with neither verdict nor failure"(episodes) {
      episodes.environment.script.verify = () => verified({ case: undefined });
    },
    "an activation that failed without a failure"(episodes) {
      episodes.agent.script.activate = () => turn({ case: "failed", value: {} });
    },
  };
  for (const [name, script] of Object.entries(wrong)) {
    it(name, async () => {
      await using episodes = await ServedEpisodes.start();
      script(episodes);
      expect((await episodes.run()).failure).toMatchObject({
        kind: FailureKind.PROTOCOL_VIOLATION,
        retry: Retry.NEVER,
      });
      expect(episodes.environment.count("close")).toBe(1);
    });
  }

  it("a stream without its terminal event is a lost connection, joined under its own name (EPI-E6-005, field-case-023)", async () => {
    await using episodes = await ServedEpisodes.start();
    let cut = true;
    episodes.environment.script.verify = async function* () {
      if (cut) {
        cut = false;
        return;
      }
      yield* verified({ case: "verdict", value: verdict(1) });
    };
    expect((await episodes.run()).verdict?.reward?.value).toBe(1);
    const indexes = episodes.environment
      .requests("verify")
      .map(({ target }) => (target.case === "session" ? target.value.verificationIndex : -1));
    expect(indexes).toEqual([0, 0]);
  });

  it("events that come twice are heard once", async () => {
    await using episodes = await ServedEpisodes.start();
    episodes.agent.script.activate = async function* () {
      for await (const event of answered()) {
        yield event;
        if (event.event.case === "item") yield event;
      }
    };
    const { events } = await episodes.run({ includeItems: true });
    expect(events.filter(({ event }) => event.case === "item")).toHaveLength(1);
  });
});
