import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type EnvironmentClient, environmentClient } from "../../../../clients/index.js";
import type { SessionDescriptor, Submission, Task } from "../../../../gen/index.js";
import { Channels } from "../../../runtime/dial.js";
import { lastAnswer } from "../../../runtime/items.js";
import { createRuntime } from "../../../runtime/runtime.js";
import { type RunningServer, serve } from "../../../runtime/serve.js";
import { environmentService } from "../../environment-service.js";
import { reasoning } from "./index.js";

let server: RunningServer;
let client: EnvironmentClient;
const channels = new Channels();
let sessions = 0;

beforeAll(async () => {
  const runtime = createRuntime();
  server = await serve({ runtime, services: [environmentService(reasoning({ calculator: true }), runtime)] });
  client = environmentClient(channels.dial({ url: server.url }));
});
afterAll(async () => {
  await channels[Symbol.asyncDispose]();
  await server.close({ drainTimeoutMs: 0 });
});

const context = { episodeId: { rolloutId: "r" } };

async function seed(task: object, more: object = {}) {
  sessions += 1;
  const sessionId = `s${sessions}`;
  const response = await client.seed({
    sessionId,
    context,
    source: { case: "task", value: task as Task },
    ...more,
  });
  return { sessionId, session: response.session as SessionDescriptor, reference: response.reference };
}

async function rewardOf(sessionId: string, submission: Submission | object): Promise<number | undefined> {
  const result = await client.verify({
    target: {
      case: "session",
      value: {
        $typeName: "touchstone.v1.SessionVerification",
        sessionId,
        verificationIndex: 0,
        final: true,
        verifierState: new Uint8Array(),
      },
    },
    submission: submission as Submission,
  });
  return result.outcome.case === "verdict" ? result.outcome.value.reward?.value : undefined;
}

const generated = (kind: string, index: number) => ({
  taskId: { taskset: kind, id: String(index) },
  environment: "reasoning",
  publicJson: JSON.stringify({ kind, index }),
});

describe("reasoning", () => {
  it("scores its own samples as it declares", async () => {
    const { samples } = await client.describe({});
    expect(samples.length).toBeGreaterThan(0);
    for (const { task, good, bad } of samples) {
      for (const work of [good, bad]) {
        const { sessionId } = await seed(task as Task);
        expect(await rewardOf(sessionId, work?.submission ?? {})).toBe(work?.expectedReward?.value);
      }
    }
  });

  it("makes the same task from the same seed, another from another, and tells a seed that it picked (ENV-SEED-006)", async () => {
    const prompt = async (more: object) => {
      const { session } = await seed(generated("arithmetic", 7), more);
      return [
        JSON.stringify(session.agents[0]?.input, (_k, v: unknown) => (typeof v === "bigint" ? String(v) : v)),
        session.seed,
      ] as const;
    };
    const [first] = await prompt({ seed: 1n });
    expect((await prompt({ seed: 1n }))[0]).toBe(first);
    expect((await prompt({ seed: 2n }))[0]).not.toBe(first);
    const [picked, inUse] = await prompt({});
    expect((await prompt({ seed: inUse }))[0]).toBe(picked);
  });

  it("gives a reference that earns the whole reward, only where it is asked for", async () => {
    for (const task of [generated("arithmetic", 3), generated("strings", 4)]) {
      expect((await seed(task, { seed: 5n })).reference).toBeUndefined();
      const { sessionId, reference } = await seed(task, { seed: 5n, wantReference: true });
      expect(lastAnswer(reference?.items ?? [])).toMatch(/^#### /);
      expect(
        await rewardOf(sessionId, { agents: [{ agentId: "agent", items: reference?.items ?? [] }] }),
      ).toBe(1);
    }
  });

  it("gives nothing for nothing: an empty submission is a verdict of 0 (ENV-VRFY-007)", async () => {
    const { sessionId } = await seed(generated("strings", 0));
    expect(await rewardOf(sessionId, {})).toBe(0);
  });

  it("refuses a bad row by the path inside it, without repeating it (ENV-SEED-004)", async () => {
    const row = (text: string) => ({
      taskId: { id: "1" },
      environment: "reasoning",
      row: { data: Buffer.from(text), mediaType: "application/json", rowSchema: "gsm8k" },
    });
    const refused = async (text: string) => {
      const error: unknown = await seed(row(text)).catch((caught: unknown) => caught);
      return error as { reason: string; violations: { field: string }[]; message: string };
    };
    expect(await refused('{"question":"q","answer":"SECRET without a marker"}')).toMatchObject({
      reason: "INVALID_FIELD",
      violations: [{ field: "task.row.answer" }],
    });
    expect((await refused('{"question":"q","answer":"SECRET"}')).message).not.toContain("SECRET");
    expect((await refused('{"question":7}')).violations).toMatchObject([{ field: "task.row.question" }]);
    expect((await refused("not json")).violations).toMatchObject([{ field: "task.row" }]);
  });

  it("offers the calculator, whose errors the agent reads", async () => {
    const { sessionId, session } = await seed(generated("arithmetic", 1));
    expect(session.agents[0]?.tools.map(({ name }) => name)).toEqual(["calculator"]);
    const call = async (index: number, expression: string) => {
      const { outcomes } = await client.step({
        sessionId,
        name: { case: "stepIndex", value: index },
        actions: [
          {
            agentId: "agent",
            kind: {
              case: "toolCall",
              value: { callId: "c", name: "calculator", argumentsJson: JSON.stringify({ expression }) },
            },
          },
        ],
      });
      const kind = outcomes[0]?.observation?.items[0]?.kind;
      return kind?.case === "toolResult"
        ? [kind.value.isError, kind.value.content[0]?.kind.value]
        : undefined;
    };
    expect(await call(0, "6 * 7")).toEqual([false, "42"]);
    expect((await call(1, "1 / 0"))?.[0]).toBe(true);
  });
});
