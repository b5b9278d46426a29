import { join } from "node:path";
import { pino } from "pino";
import { expect, it } from "vitest";
import { episodeClient } from "../../clients/index.js";
import { temporaryFolder } from "../../test/temporary-folder.js";
import { Channels } from "../runtime/dial.js";
import { collector } from "../telemetry/fixtures/collector.js";
import { loadConfig } from "./load-config.js";
import { loadServers } from "./load-servers.js";
import { startServers } from "./start-servers.js";

const traceId = "0af7651916cd43dd8448eb211c80319c";

/** Runs an episode of a configuration with this telemetry, as part of a trace. */
async function episode(telemetry: string): Promise<void> {
  const text = `
servers:
  maths: { environment: reasoning }
  silent: { agent: noop }
  episodes: { episode: single_agent_turn }
${telemetry}`;
  const config = await loadConfig(join(temporaryFolder({ "c.yaml": text }), "c.yaml"));
  await using channels = new Channels();
  await using started = await startServers({
    config,
    loaded: await loadServers(config),
    log: pino({ level: "silent" }),
  });
  const address = started.servers.get("episodes")?.address ?? { url: "" };
  const traceparent = `00-${traceId}-b7ad6b7169203331-01`;
  const outcome = await episodeClient(channels.dial(address), { headers: { traceparent } })
    .run({
      context: { episodeId: { rolloutId: "r1" } },
      source: {
        case: "task",
        value: {
          taskId: { taskset: "arithmetic", id: "0" },
          environment: "reasoning",
          publicJson: '{"kind": "arithmetic", "index": 0}',
        },
      },
      environment: "maths",
      agents: [{ agentId: "agent", agent: "silent" }],
    })
    .result();
  expect(outcome.outcome.case).toBe("verdict");
}

it("sends an episode's span, and the calls that it made at other servers, as one trace of its caller's", async () => {
  const { bodies, url } = await collector();
  await episode(`telemetry: { traces: "${url}" }`);
  const sent = Buffer.concat(bodies);
  const made = ["Seed", "Verify", "Close"].map((rpc) => `touchstone.v1.EnvironmentService/${rpc}`);
  const opened = ["Open", "Activate", "Close"].map((rpc) => `touchstone.v1.AgentSessionService/${rpc}`);
  const names = ["touchstone.episode", "touchstone.v1.EpisodeService/Run", ...made, ...opened];
  for (const name of names) expect(sent.includes(name), name).toBe(true);
  const spans = sent.toString("hex").split(traceId).length - 1;
  expect(spans).toBeGreaterThanOrEqual(names.length);
});

it("sends nothing where nobody asks for it", async () => {
  const { bodies } = await collector();
  await episode("");
  expect(bodies).toEqual([]);
});
