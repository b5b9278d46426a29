// The server process of a point: `serve.js POINT`. Prints {"address"} when it is ready. A line "memory" on standard
// input is answered by {"rss_kb", "live"}; the end of input, or SIGTERM, ends it.
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { loadPoint } from "./points/index.js";

const point = await loadPoint(process.argv[2]);
if (point.serve === undefined)
  throw new Error(`${process.argv[2]} has no server: its load process holds all`);
const server = await point.serve();
const tell = (message: object): void => void process.stdout.write(`${JSON.stringify(message)}\n`);

async function end(): Promise<void> {
  await server.close();
  process.exit(0);
}

/** What stays in memory once the garbage is gone (only with --expose-gc). */
async function tellMemory(): Promise<void> {
  for (let i = 0; i < 3; i += 1) {
    globalThis.gc?.();
    await pause(100);
  }
  tell({ rss_kb: Math.round(process.memoryUsage.rss() / 1024), live: server.live?.() });
}

process.once("SIGTERM", () => void end());
const input = createInterface({ input: process.stdin });
input.on("line", (line) => {
  if (line === "memory") void tellMemory();
});
input.on("close", () => void end());
tell({ address: server.address });
