import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
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

const read = (): All => parse(readFileSync(resolve(import.meta.dirname, "all.yaml"), "utf8")) as All;
const here = (file: string): string => resolve(import.meta.dirname, file);

/** One of the runs as a configuration of its own. */
async function configOf(name: string) {
  const { servers, runs } = read();
  for (const { options } of Object.values(servers)) {
    if (options?.file !== undefined) options.file = here(options.file);
  }
  const chosen = runs[name];
  if (chosen === undefined) throw new Error(`no run ${name}`);
  if (Array.isArray(chosen.tasks)) {
    for (const source of chosen.tasks as { file: string }[]) source.file = here(source.file);
  }
  const folder = temporaryFolder({ "one.yaml": stringify({ servers, run: chosen }) });
  return { folder, config: await loadConfig(join(folder, "one.yaml")) };
}

/** Mean reward and coverage of one of the runs, by agent. */
async function meansOf(name: string): Promise<Record<string, number | undefined>> {
  const { folder, config } = await configOf(name);
  const reports = await run({
    config,
    changes: { agents: ["oracle", "tool-loop", "random", "noop"] },
    out: join(folder, "out"),
    resume: false,
    log: pino({ level: "silent" }),
    stop: new AbortController().signal,
    abandon: new AbortController().signal,
    onProgress: () => {},
    onStep: undefined,
  });
  return Object.fromEntries(
    reports.map(({ metrics, folder: out }) => {
      const { scored, expected } = metrics.coverage;
      expect([out, scored]).toEqual([out, expected]);
      // R16: what only the environment may know is in nothing that a run writes.
      for (const file of readdirSync(out))
        expect(readFileSync(join(out, file), "latin1")).not.toContain("CANARY-");
      return [out.slice(out.lastIndexOf("/") + 1), metrics.mean_reward ?? undefined];
    }),
  );
}

describe("examples/all.yaml", () => {
  it("runs every environment of ours that needs no other one", () => {
    const { servers, runs } = read();
    const used = Object.values(runs).map(({ environment }) => servers[environment]?.environment);
    const alone = Object.entries(worlds).filter(([, { options }]) => options.safeParse({}).success);
    expect(used.sort()).toEqual(alone.map(([name]) => name).sort());
  });

  it.each(Object.keys(read().runs))(
    "%s: ceiling, a model, chance, floor",
    async (name) => {
      const means = await meansOf(name);
      // The driver of one turn plays the first of three rooms.
      const ceiling = name === "escape-room" ? 1 / 3 : 1;
      expect(means["oracle"]).toBeCloseTo(ceiling);
      expect(means["tool-loop"]).toBeCloseTo(0.8 * ceiling);
      expect(means["random"]).toBeLessThan(0.35 * ceiling);
      expect(means["noop"]).toBe(0);
    },
    60_000,
  );
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
