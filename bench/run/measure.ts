import type { Cores } from "./cores.js";
import type { Held, Rates } from "./measurement.js";
import { PinnedProcess } from "./pinned-process.js";
import { busyMicroseconds, cpuMicroseconds, residentKilobytes } from "./process-tree.js";
import type { Command, Job, Target } from "./target.js";

/** How measurements are taken. */
export interface MeasureOptions {
  readonly cores: Cores;
  readonly seconds: number;
  readonly warmSeconds: number;
  /** Told when the load begins, its warm-up first. */
  readonly onReady?: () => void;
}

const startMs = 120_000;
const slackMs = 120_000;

/** Takes one figure, with a server of its own. */
export async function measure(job: Job, options: MeasureOptions): Promise<Rates | Held> {
  const { target, mode } = job;
  await using server = await startServer(target, mode === "idle" && target.tellsMemory === true, options);
  return mode === "idle" ? await hold(job, server, options) : await time(job, server, options);
}

/** A server that is ready, or none where the load needs none. */
interface ReadyServer extends AsyncDisposable {
  readonly process: PinnedProcess | undefined;
  readonly address: string;
}

/** Starts a target's server on its core. @param collects - It can collect its garbage when asked. */
export async function startServer(
  { server }: Target,
  collects: boolean,
  { cores }: MeasureOptions,
): Promise<ReadyServer> {
  if (server === undefined) return { process: undefined, address: "-", async [Symbol.asyncDispose]() {} };
  const args = collects ? ["--expose-gc", ...server.args] : server.args;
  const process = new PinnedProcess({ ...server, args }, cores.server);
  try {
    const { address } = await process.next(startMs);
    if (typeof address !== "string") throw new Error(`expected an address, found ${JSON.stringify(address)}`);
    return { process, address, [Symbol.asyncDispose]: () => process[Symbol.asyncDispose]() };
  } catch (error) {
    await process[Symbol.asyncDispose]();
    throw error;
  }
}

function loadCommand({ target, mode, sessions }: Job, address: string, options: MeasureOptions): Command {
  const { load } = target;
  return {
    ...load,
    args: [...load.args, address, String(sessions), String(options.seconds), mode],
    env: { ...load.env, BENCH_WARM_SECONDS: String(options.warmSeconds) },
  };
}

function coreOf({ unpinned }: Target, { cores }: MeasureOptions): number | undefined {
  return unpinned === true ? undefined : cores.load;
}

/** CPU time of both sides is counted from the load's ready line to its result. */
async function time(job: Job, server: ReadyServer, options: MeasureOptions): Promise<Rates> {
  const load = new PinnedProcess(loadCommand(job, server.address, options), coreOf(job.target, options));
  await using _ = load;
  const used = () => ({
    at: performance.now(),
    busy: busyMicroseconds(),
    server: server.process === undefined ? 0 : cpuMicroseconds(server.process.pid),
    load: cpuMicroseconds(load.pid),
  });
  const limitMs = (options.seconds + options.warmSeconds) * 1000 + slackMs;
  const ready = await load.next(limitMs);
  if (ready["ready"] !== true) throw new Error(`expected {"ready": true}, found ${JSON.stringify(ready)}`);
  options.onReady?.();
  const before = used();
  const result = await load.next(limitMs);
  const after = used();
  const number = (name: string): number => {
    const value = result[name];
    if (typeof value === "number" && value > 0) return value;
    throw new Error(`expected a ${name} above 0, found ${JSON.stringify(result)}`);
  };
  const total = number("total");
  const spent = (side: "server" | "load"): number | null => {
    const [from, to] = [before[side], after[side]];
    return from === undefined || to === undefined || to < from ? null : to - from;
  };
  const [serverCpu, loadCpu] = [spent("server"), spent("load")];
  const each = (cpu: number | null): number | null =>
    cpu === null ? null : Math.round((cpu / total) * 10) / 10;
  const foreign = after.busy - before.busy - (serverCpu ?? 0) - (loadCpu ?? 0);
  return {
    perSecond: number(job.mode === "create" ? "creates_per_s" : "steps_per_s"),
    p50Us: number("p50_us"),
    p99Us: number("p99_us"),
    serverCpuUs: server.process === undefined ? null : each(serverCpu),
    clientCpuUs: each(loadCpu),
    foreignCores: Math.max(0, Math.round((foreign / ((after.at - before.at) * 1000)) * 100) / 100),
  };
}

/** Memory of the server before and after sessions were opened that nobody steps. */
async function hold(job: Job, server: ReadyServer, options: MeasureOptions): Promise<Held> {
  const { process } = server;
  if (process === undefined) throw new Error("expected a server to measure, found none");
  const { tellsMemory } = job.target;
  const kilobytes = async (sessions: number): Promise<number> => {
    if (tellsMemory !== true) return residentKilobytes(process.pid);
    process.tell("memory");
    const { rss_kb, live } = await process.next(slackMs);
    if (live !== sessions) throw new Error(`expected ${sessions} open sessions on the server, found ${live}`);
    return Number(rss_kb);
  };
  const empty = await kilobytes(0);
  await using load = new PinnedProcess(
    loadCommand(job, server.address, options),
    coreOf(job.target, options),
  );
  const { open, error } = await load.next(slackMs);
  if (open !== job.sessions) throw new Error(`expected ${job.sessions} sessions, found ${open}: ${error}`);
  const full = await kilobytes(job.sessions);
  const megabytes = (count: number): number => Math.round((count / 1024) * 10) / 10;
  return {
    open: job.sessions,
    emptyMegabytes: megabytes(empty),
    megabytes: megabytes(full),
    growthMegabytes: megabytes(full - empty),
  };
}
