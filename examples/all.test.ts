import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { run } from "../rollouts/run.js";
import { loadConfig } from "../servers/composition/load-config.js";
import { taskSource } from "../servers/environment/task-source.js";
import { taskCatalogue } from "../servers/environment/tasks/task-catalogue.js";
import { worlds } from "../servers/environment/worlds/index.js";
import { textOf } from "../servers/runtime/items.js";
import { temporaryFolder } from "../test/temporary-folder.js";

interface All {
  readonly servers: Record<string, { environment?: string; options?: { file?: string } }>;
  readonly runs: Record<string, Record<string, unknown> & { environment: string; tasks: unknown }>;
}

const file = resolve(import.meta.dirname, "all.yaml");
const { servers, runs } = parse(readFileSync(file, "utf8")) as All;
const agents = ["oracle", "tool-loop", "random", "noop"];

/** Mean reward of each run and agent, as `run/agent`. */
async function means(): Promise<ReadonlyMap<string, number | null>> {
  const out = join(temporaryFolder({}), "out");
  const reports = await run({
    config: await loadConfig(file),
    changes: { agents },
    out,
    resume: false,
    log: pino({ level: "silent" }),
    stop: new AbortController().signal,
    abandon: new AbortController().signal,
    onProgress: () => {},
  });
  return new Map(
    reports.map(({ metrics, folder }) => {
      const { scored, expected } = metrics.coverage;
      expect([folder, scored]).toEqual([folder, expected]);
      // R16: what only the environment may know is in nothing that a run writes.
      for (const name of readdirSync(folder))
        expect(readFileSync(join(folder, name), "latin1")).not.toContain("CANARY-");
      return [folder.slice(out.length + 1), metrics.mean_reward];
    }),
  );
}

describe("examples/all.yaml", () => {
  it("runs every environment of ours that needs no other one", () => {
    const used = Object.values(runs).map(({ environment }) => servers[environment]?.environment);
    const alone = Object.entries(worlds).filter(([, { options }]) => options.safeParse({}).success);
    expect(used.sort()).toEqual(alone.map(([name]) => name).sort());
  });

  it("ceiling, a model, chance, floor, in every environment", async () => {
    const rewards = await means();
    expect([...rewards.keys()].sort()).toEqual(
      Object.keys(runs)
        .flatMap((name) => agents.map((agent) => `${name}/${agent}`))
        .sort(),
    );
    for (const name of Object.keys(runs)) {
      expect(rewards.get(`${name}/oracle`), name).toBeCloseTo(1);
      expect(rewards.get(`${name}/tool-loop`), name).toBeCloseTo(0.8);
      expect(rewards.get(`${name}/random`), name).toBeLessThan(0.35);
      expect(rewards.get(`${name}/noop`), name).toBe(0);
    }
  }, 240_000);
});

interface Call {
  readonly text?: string;
  readonly tool_calls?: readonly { readonly name: string; readonly arguments: object }[];
}

/** What a scripted model says to a task: its reference, call by call; on every fifth task it gives up. */
async function conversationsOf(worldName: string, agent: string): Promise<object[]> {
  const definition = await worlds[worldName]?.create({});
  const catalogue = taskCatalogue(worldName, definition?.splits ?? {});
  const split = catalogue.split("test", "");
  const conversations: object[] = [];
  for (let i = 0; i < (split.size ?? 0); i += 1) {
    const task = catalogue.at(split, i);
    const data = definition?.read(taskSource(task));
    const started = await definition?.seed({ data, seed: 0n, signal: new AbortController().signal });
    const { items = [] } = definition?.reference?.(data, started?.state) ?? {};
    await definition?.close?.(started?.state);
    const calls = items.flatMap(({ kind }): Call[] => {
      if (kind?.case === "toolCall") {
        const { name = "", argumentsJson = "" } = kind.value;
        return [{ tool_calls: [{ name, arguments: JSON.parse(argumentsJson) as object }] }];
      }
      return kind?.case === "chatMessage" ? [{ text: textOf(kind.value.content as never) }] : [];
    });
    const { taskset = "", id = "" } = task.taskId ?? {};
    const said = i % 5 === 4 ? [{ text: "I give up." }] : [...calls, { text: "Done." }];
    conversations.push({ task: id, taskset, agent, calls: said });
  }
  return conversations;
}

it("examples/all-replay.jsonl says what the references do (made anew by vitest -u)", async () => {
  const conversations = [
    {
      task: "*",
      taskset: "support-desk",
      agent: "customer",
      calls: [{ text: "I need help with an order of mine." }, { text: "###STOP###" }],
    },
    ...(await conversationsOf("support-desk", "assistant")),
    ...(await conversationsOf("gridworld", "agent")),
    ...(await conversationsOf("workbench", "agent")),
    ...(await conversationsOf("escape-room", "agent")),
  ];
  const lines = conversations.map((conversation) => `${JSON.stringify(conversation)}\n`);
  await expect(lines.join("")).toMatchFileSnapshot("./all-replay.jsonl");
});
