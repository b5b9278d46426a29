import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { create, type MessageInitShape, toJson } from "@bufbuild/protobuf";
import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { TaskSchema } from "../gen/index.js";
import { run } from "../rollouts/run.js";
import { loadConfig } from "../servers/composition/load-config.js";
import { taskSource } from "../servers/environment/task-source.js";
import { taskCatalogue } from "../servers/environment/tasks/task-catalogue.js";
import { canary, hidden } from "../servers/environment/worlds/hidden-data.js";
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
  it("runs every environment of ours", () => {
    const used = Object.values(runs).map(({ environment }) => servers[environment]?.environment);
    expect(used.sort()).toEqual(Object.keys(worlds).sort());
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
  const world = worlds[worldName];
  const definition = world !== undefined && "create" in world ? world.create({}) : undefined;
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

/** How many tickets are open in each task of the facade. */
const openTickets = [3, 1, 4, 2, 6, 5, 2, 0, 7, 1];
const json = (task: MessageInitShape<typeof TaskSchema>) => toJson(TaskSchema, create(TaskSchema, task));

/** A task of the facade: the office where tickets can be counted, and the question how many are open. */
function researchTask(open: number, i: number): string {
  const tickets = Array.from({ length: 8 }, (_, j) => ({
    id: j + 1,
    title: `Ticket ${j + 1}`,
    status: (j * 5 + i) % 8 < open ? "open" : "closed",
    priority: "low",
    assignee: "bo@office.example",
  }));
  const office = {
    office: { mails: [], events: [], tickets },
    solution: [{ tool: "update_ticket", args: { id: 8, priority: "high" } }],
    canary: canary("research", i),
  };
  const question = { question: "How many tickets are open?", answer: `#### ${open}` };
  const row = {
    data: new TextEncoder().encode(JSON.stringify(question)),
    mediaType: "application/json",
    rowSchema: "gsm8k",
  };
  const taskId = { taskset: "research", id: `${i}` };
  const parts = {
    tools: json({ taskId, environment: "workbench", privileged: hidden(office) }),
    verifier: json({ taskId, environment: "reasoning", row }),
  };
  return JSON.stringify(json({ taskId, privileged: hidden(parts) }));
}

/** What a scripted model says to such a task; on every fifth it gives up. */
function researchConversation(open: number, i: number): object {
  const count = { tool_calls: [{ name: "search_tickets", arguments: { status: "open" } }] };
  const calls = i % 5 === 4 ? [{ text: "I give up." }] : [count, { text: `#### ${open}` }];
  return { task: `${i}`, taskset: "research", agent: "agent", calls };
}

it("examples/research-tasks.jsonl counts tickets (made anew by vitest -u)", async () => {
  const lines = openTickets.map((open, i) => `${researchTask(open, i)}\n`);
  await expect(lines.join("")).toMatchFileSnapshot("./research-tasks.jsonl");
});

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
    ...openTickets.map(researchConversation),
  ];
  const lines = conversations.map((conversation) => `${JSON.stringify(conversation)}\n`);
  await expect(lines.join("")).toMatchFileSnapshot("./all-replay.jsonl");
});
