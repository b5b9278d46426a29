import { create } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { expect, describe as group, it } from "vitest";
import {
  Boundary,
  CallEnd,
  Feature,
  StepRecordSchema,
  StopReason,
  UsageRole,
  WatchStepsResponseSchema,
} from "../../gen/index.js";
import { bareStatus, hang } from "../../test/scripted-peer.js";
import {
  answered,
  captured,
  environmentScript,
  receipt,
  say,
  seeded,
  turn,
  usage,
  verified,
} from "./fixtures/scripted-cast.js";
import { ServedEpisodes, told } from "./fixtures/served-episodes.js";

group("The outcome", () => {
  it("names ids, task, and who took part with version, instance and weights (EPI-OUT-001, field-case-089)", async () => {
    await using episodes = await ServedEpisodes.start();
    const second = { ...captured, callId: "k2", choices: [{ tokens: { weightSpans: [{ version: "8" }] } }] };
    episodes.model.script.readCapture = async function* () {
      yield { sequence: 1n, call: captured };
      yield { sequence: 2n, call: second };
    };
    episodes.model.script.closeGateway = async () => ({ receipt, calls: 2n });
    episodes.environment.script.seed = async (request) =>
      seeded(request, { sandbox: { implementation: { name: "box", version: "5" }, instanceId: "b-1" } });
    const { outcome } = await episodes.run();
    expect(outcome).toMatchObject({
      context: {
        episodeId: { rolloutId: "r1", attempt: 0 },
        groupId: "g",
        groupIndex: 2,
        labels: { a: "1" },
      },
      task: { taskId: { id: "q1" }, environment: "world", digest: "sha256:1" },
      participants: [
        {
          boundary: Boundary.ENVIRONMENT,
          binding: "world",
          implementation: { name: "world" },
          instanceId: "e-1",
        },
        {
          boundary: Boundary.AGENT,
          binding: "loop",
          agentId: "agent",
          implementation: { name: "loop", version: "3" },
        },
        {
          ...{ boundary: Boundary.MODEL, binding: "toy", agentId: "agent", instanceId: "m-1" },
          ...{ implementation: { name: "model-server" }, weightsVersions: ["7", "8"] },
        },
        { boundary: Boundary.SANDBOX, implementation: { name: "box" }, instanceId: "b-1" },
      ],
    });
    expect(outcome?.answerId).toMatch(/^[0-9a-f-]{36}$/);
    expect(outcome?.referenceGiven).toBe(false);
  });

  it("tells usage per role, the steps, what was collected (EPI-OUT-003)", async () => {
    await using episodes = await ServedEpisodes.start();
    episodes.environment.script.close = async () => ({
      receipt,
      steps: 3,
      usage: { inputTokens: 77n, modelCalls: 2 },
    });
    const { outcome } = await episodes.run();
    expect(outcome?.usage).toMatchObject([
      { role: UsageRole.AGENT, agentId: "agent", usage },
      { role: UsageRole.ENVIRONMENT, agentId: "", usage: { inputTokens: 77n, modelCalls: 2 } },
    ]);
    expect(outcome?.steps).toBe(3);
    // The steps are not in the trajectory, and it says so.
    expect(outcome?.trajectory?.missingReason).toContain("WATCH_STEPS");
  });

  it("of an episode that never began tells what the request said of the task, and no phase", async () => {
    await using episodes = await ServedEpisodes.start();
    episodes.environment.script.describe = async () => {
      throw bareStatus(Code.Unavailable);
    };
    const { outcome } = await episodes.run();
    expect(outcome).toMatchObject({
      task: { taskId: { id: "q1" }, environment: "world", digest: "" },
      participants: [],
      cleanUps: [],
      training: { usable: false },
    });
    expect(outcome?.timings?.seed).toBeUndefined();
    expect(outcome?.timings?.check).toBeDefined();
  });

  it("fits a message: a submission that does not is left out whole, the verdict stays (ALL-SIZE-001)", async () => {
    await using episodes = await ServedEpisodes.start();
    const items = [1, 2, 3].map((i) => say(4, "x".repeat(1_300_000), `i${i}`));
    episodes.agent.script.activate = async function* () {
      yield* turn(...items.map((value) => ({ case: "item" as const, value })), {
        case: "completed",
        value: { stopReason: StopReason.DONE, output: items },
      });
    };
    episodes.environment.script.verify = async function* () {
      for await (const event of verified({
        case: "verdict",
        value: { reward: { value: 1 }, diagnosticsJson: `"${"d".repeat(250_000)}"` },
      })) {
        if (event.event.case === "result") {
          const body = { case: "inline" as const, value: Buffer.alloc(1 << 20) };
          Object.assign(event.event.value, {
            collected: [{ $typeName: "touchstone.v1.Artifact", name: "patch", mediaType: "", body }],
          });
        }
        yield event;
      }
    };
    const { outcome, verdict, error } = await episodes.run();
    expect(error).toBeUndefined();
    expect(verdict?.reward?.value).toBe(1);
    expect(outcome?.submission).toBeUndefined();
    expect(outcome?.collected).toMatchObject([{ name: "patch", body: { case: "inline" } }]);
    // The trajectory has what was said, in parts (EPI-TRAJ-001).
    const { records } = await episodes.trajectory();
    expect(records.filter(({ record }) => record.case === "item")).toHaveLength(4);
  });
});

group("Whether the tokens may be trained on (EPI-TRN-001, EPI-TRN-002, EPI-TRN-003)", () => {
  it("yes where every call is captured whole", async () => {
    await using episodes = await ServedEpisodes.start();
    expect((await episodes.run()).outcome?.training).toMatchObject({ usable: true, reasons: [] });
  });

  const faults: Record<string, { script: (episodes: ServedEpisodes) => void; reason: RegExp }> = {
    "a capture that cannot be read (EPI-GATE-003)": {
      script(episodes) {
        episodes.model.script.readCapture = () => {
          throw bareStatus(Code.PermissionDenied);
        };
      },
      reason: /could not be read/,
    },
    "fewer calls than there were": {
      script(episodes) {
        episodes.model.script.closeGateway = async () => ({ receipt, calls: 3n });
      },
      reason: /1 of its 3 model calls/,
    },
    "a capture that says that it is not whole": {
      script(episodes) {
        episodes.model.script.readCapture = async function* () {
          yield { sequence: 1n, call: { ...captured, captureFault: "lost a chunk" } };
        };
      },
      reason: /not whole/,
    },
    "a count of faults": {
      script(episodes) {
        episodes.model.script.closeGateway = async () => ({ receipt, calls: 1n, captureFaults: 1n });
      },
      reason: /not whole/,
    },
    "an answer without tokens": {
      script(episodes) {
        episodes.model.script.readCapture = async function* () {
          yield { sequence: 1n, call: { ...captured, choices: [{}] } };
        };
      },
      reason: /no token records/,
    },
    "a call that had not ended": {
      script(episodes) {
        episodes.model.script.readCapture = async function* () {
          yield { sequence: 1n, call: { ...captured, end: CallEnd.UNSPECIFIED } };
        };
      },
      reason: /had not ended/,
    },
  };
  for (const [name, { script, reason }] of Object.entries(faults)) {
    it(`no with ${name}; the reward is not touched`, async () => {
      await using episodes = await ServedEpisodes.start();
      script(episodes);
      const { outcome, verdict } = await episodes.run();
      expect(verdict).toMatchObject({ reward: { value: 0.5 } });
      expect(verdict?.masked).toBeUndefined();
      expect(outcome?.training?.usable).toBe(false);
      expect(outcome?.training?.reasons.join("; ")).toMatch(reason);
    });
  }

  it("a capture that hangs holds up neither the gateway's Close nor the verdict", async () => {
    await using episodes = await ServedEpisodes.start({ timeouts: { cleanUpMs: 2000 } });
    episodes.model.script.readCapture = async function* (_request, call) {
      yield { sequence: 1n, call: captured };
      await hang(call);
    };
    const running = episodes.run();
    await episodes.model.arrived("readCapture");
    await episodes.pass(2000);
    const { verdict, outcome } = await running;
    expect(verdict).toBeDefined();
    expect(outcome?.cleanUps.every(({ released }) => released)).toBe(true);
    expect(outcome?.training?.usable).toBe(false);
    expect(outcome?.trajectory?.missingReason).toContain("model calls of agent agent");
  });
});

group("Steps that the environment tells (EPI-EVT-002, EPI-OUT-007)", () => {
  const step = (index: number, value: number) =>
    create(WatchStepsResponseSchema, {
      event: {
        case: "step",
        value: {
          response: {
            stepIndex: index,
            sequence: BigInt(index + 1),
            outcomes: [{ agentId: "agent", reward: { value } }],
          },
        },
      },
    });

  /** An environment that tells its steps, and ends the feed with the session. */
  async function watched() {
    const episodes = await ServedEpisodes.start();
    const { describe, close } = environmentScript();
    let end: () => void = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    episodes.environment.script.describe = async (request, call) => {
      await describe?.(request, call);
      return { service: { features: [Feature.WATCH_STEPS] }, environment: "world" };
    };
    episodes.environment.script.watchSteps = async function* () {
      yield step(0, 0.1);
      yield step(1, 0.2);
      await ended;
      yield step(2, 0.3);
    };
    episodes.environment.script.close = async (request, call) => {
      end();
      return { ...(await close?.(request, call)), steps: 3 } as never;
    };
    return episodes;
  }

  it("appear with their rewards, each once, in events and trajectory, the last ones too", async () => {
    await using episodes = await watched();
    const { events, outcome, verdict } = await episodes.run();
    expect(verdict).toBeDefined();
    const steps = events.flatMap(({ event }) => (event.case === "step" ? [event.value] : []));
    expect(steps.map(({ response }) => response?.outcomes[0]?.reward?.value)).toEqual([0.1, 0.2, 0.3]);
    expect(told(events).at(-1)).toBe("outcome");
    const { records } = await episodes.trajectory();
    const kept = records.flatMap(({ record }) => (record.case === "step" ? [record.value] : []));
    expect(kept).toEqual(steps.map((value) => create(StepRecordSchema, value)));
    expect(outcome?.trajectory?.missingReason).toBe("");
    expect(outcome?.steps).toBe(3);
  });

  it("a feed that never ends is left after its own time; the trajectory says what is missing", async () => {
    await using episodes = await watched();
    episodes.environment.script.watchSteps = async function* (_request, call) {
      yield step(0, 0.1);
      await hang(call);
    };
    const running = episodes.run();
    await episodes.environment.arrived("close");
    await episodes.pass(30_000);
    const { verdict, outcome } = await running;
    expect(verdict).toBeDefined();
    expect(outcome?.cleanUps.every(({ released }) => released)).toBe(true);
    expect(outcome?.trajectory?.missingReason).toContain("feed of steps");
  });
});

group("Output that is elsewhere", () => {
  it("is what was heard of it, where all was", async () => {
    await using episodes = await ServedEpisodes.start();
    episodes.agent.script.activate = async function* () {
      for await (const event of answered()) {
        if (event.event.case === "completed") {
          event.event.value.output = [];
          Object.assign(event.event.value, {
            outputRef: {
              $typeName: "touchstone.v1.BlobRef",
              sha256: Buffer.alloc(32),
              sizeBytes: 9n,
              mediaType: "",
            },
          });
        }
        yield event;
      }
    };
    await episodes.run();
    expect(episodes.environment.requests("verify")[0]?.submission?.agents[0]?.items).toHaveLength(1);
  });
});
