import { createServer } from "node:net";
import { join } from "node:path";
import { type Running, start } from "../../cli/fixtures/touchstone.js";
import { temporaryFolder } from "../temporary-folder.js";

/** Servers of a fleet, in the order in which they are started. */
export const serverNames = ["world", "solver", "script", "episodes"] as const;
export type ServerName = (typeof serverNames)[number];

/** How many episodes a run has. */
export const episodesOfRun = 120;

/** How many of them a run has under way at once. */
export const concurrency = 24;

interface Place {
  readonly port: number;
  readonly metrics: number;
  readonly config: string;
}

/** Every server in a process of its own, at a fixed port, so that one that was killed comes back where it was. */
export class Fleet implements AsyncDisposable {
  readonly #folder: string;
  readonly #places: Record<ServerName, Place>;
  readonly #running = new Map<ServerName, Running>();
  readonly #runConfig: string;

  private constructor(folder: string, places: Record<ServerName, Place>, runConfig: string) {
    this.#folder = folder;
    this.#places = places;
    this.#runConfig = runConfig;
  }

  static async start(): Promise<Fleet> {
    const ports = await freePorts(serverNames.length * 2);
    const at = (i: number): string => `127.0.0.1:${ports[i]}`;
    const world = join(import.meta.dirname, "slow-world.ts");
    const servers = [
      `world: { environment: ${world}, listen: "${at(0)}" }`,
      `solver: { agent: tool-loop, listen: "${at(1)}" }`,
      `script: { model: replay, options: { file: script.jsonl }, listen: "${at(2)}" }`,
      `episodes: { episode: single_agent_turn, listen: "${at(3)}", max_concurrent_episodes: 64, queue_timeout: 60s, cleanup_timeout: 5s, records: episodes.sqlite }`,
    ];
    const calls = [
      ...Array.from({ length: 4 }, () => ({ tool_calls: [{ name: "work", arguments: {} }] })),
      { text: "Done." },
    ];
    const tasks = Array.from({ length: episodesOfRun }, (_, i) =>
      JSON.stringify({ taskId: { id: `t${i}` } }),
    );
    const configOf = (i: number): string =>
      `servers:\n${servers.map((line) => `  ${line}\n`).join("")}telemetry: { prometheus: "${at(4 + i)}" }\n`;
    const run = `servers:
  world: { environment: "http://${at(0)}" }
  solver: { agent: "http://${at(1)}" }
  script: { model: "http://${at(2)}" }
  episodes: { episode: "http://${at(3)}" }
run:
  driver: episodes
  environment: world
  agents: { agent: solver }
  models: { agent: script }
  tasks: { file: tasks.jsonl }
  concurrency: ${concurrency}
  attempts: 1000
  max_retry_delay: 500ms
`;
    const folder = temporaryFolder({
      "script.jsonl": JSON.stringify({ task: "*", calls }),
      "tasks.jsonl": tasks.join("\n"),
      "run.yaml": run,
      ...Object.fromEntries(serverNames.map((name, i) => [`${name}.yaml`, configOf(i)])),
    });
    const places = Object.fromEntries(
      serverNames.map((name, i) => [
        name,
        { port: ports[i] ?? 0, metrics: ports[4 + i] ?? 0, config: join(folder, `${name}.yaml`) },
      ]),
    ) as Record<ServerName, Place>;
    const fleet = new Fleet(folder, places, join(folder, "run.yaml"));
    for (const name of serverNames) await fleet.begin(name);
    return fleet;
  }

  /** Starts a server and waits until it serves. */
  async begin(name: ServerName): Promise<void> {
    const running = start(["serve", this.#places[name].config, name]);
    this.#running.set(name, running);
    await running.says(new RegExp(`^${name}\\t`, "m"));
  }

  /** Kills a server at once, without a word. */
  async kill(name: ServerName): Promise<void> {
    const running = this.#running.get(name);
    running?.child.kill("SIGKILL");
    await running?.ended;
  }

  /** Waits until somebody has tried so often to reach a server that was killed. */
  async knocked(name: ServerName, times: number): Promise<void> {
    const { port } = this.#places[name];
    let knocks = 0;
    await new Promise<void>((resolve, reject) => {
      const server = createServer((socket) => {
        socket.on("error", () => {}).destroy();
        knocks += 1;
        if (knocks === times) server.close(() => resolve());
      });
      server.once("error", reject).listen(port, "127.0.0.1");
    });
  }

  /** Starts a run, or goes on with one. */
  run(out: string, resume: boolean): Running {
    return start(["run", this.#runConfig, "--out", join(this.#folder, out), ...(resume ? ["--resume"] : [])]);
  }

  /** Where a run's files are. */
  folderOf(out: string): string {
    return join(this.#folder, out);
  }

  /** Sessions, gateways or episodes that a server holds, as Prometheus is told. */
  async live(name: ServerName): Promise<number> {
    const text = await (await fetch(`http://127.0.0.1:${this.#places[name].metrics}/metrics`)).text();
    return Number(/^touchstone_live\{.*\} (\d+)/m.exec(text)?.[1] ?? 0);
  }

  /** Kills what runs; its folder goes with the test. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(serverNames.map((name) => this.kill(name)));
  }
}

/** Below the ports that outgoing connections take: one of those might sit where a killed server comes back. */
let nextPort = 10_000 + (process.pid % 1000) * 20;

async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  while (ports.length < count) {
    const port = nextPort;
    nextPort += 1;
    if (await isFree(port)) ports.push(port);
  }
  return ports;
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const free = await new Promise<boolean>((resolve) => {
    server.once("error", () => resolve(false)).listen(port, "127.0.0.1", () => resolve(true));
  });
  if (free) await new Promise((resolve) => server.close(resolve));
  return free;
}
