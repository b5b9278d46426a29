import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, describe as group, it, onTestFinished } from "vitest";
import { BareClient } from "../../test/bare-client.js";
import * as fixture from "../../test/rules/fixture.js";
import { Controls, gatedWorld } from "../../test/rules/gated-world.js";
import { environmentService } from "../environment/environment-service.js";
import { createRuntime } from "../runtime/runtime.js";
import { serve } from "../runtime/serve.js";
import { collector } from "./fixtures/collector.js";
import { metricsObserver, showLive, startTelemetry, traceObserver } from "./index.js";

const { seed, step, close } = fixture;

/** A port that is free now. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function served(telemetry: Awaited<ReturnType<typeof startTelemetry>>) {
  const { meter, tracer } = telemetry;
  const runtime = createRuntime({
    observers: [
      ...(meter === undefined ? [] : [metricsObserver({ meter, server: "world", now: () => 0 })]),
      ...(tracer === undefined ? [] : [traceObserver(tracer, "world")]),
    ],
  });
  const service = environmentService(gatedWorld(new Controls()), runtime);
  if (meter !== undefined) showLive({ meter, server: "world" }, () => service.live());
  const server = await serve({ runtime, services: [service] });
  const client = new BareClient(server.url);
  onTestFinished(async () => {
    client.close();
    await server.close({ drainTimeoutMs: 0 });
  });
  return client;
}

group("telemetry", () => {
  it("shows Prometheus calls by rpc, code and reason, their durations, and what is held", async () => {
    const port = await freePort();
    const telemetry = await startTelemetry({ prometheus: { host: "127.0.0.1", port } });
    onTestFinished(() => telemetry[Symbol.asyncDispose]());
    const client = await served(telemetry);
    await client.unary(seed, fixture.seedRequest());
    await client.unary(step, fixture.stepRequest(0));
    await client.unary(step, fixture.stepRequest(5));
    const text = await (await fetch(telemetry.prometheusUrl ?? "")).text();
    const method = 'server="world",service="touchstone.v1.EnvironmentService",method="Step"';
    expect(text).toContain(`touchstone_calls_total{${method},code="OK"`);
    expect(text).toContain(`${method},code="FAILED_PRECONDITION",reason="OUT_OF_ORDER"`);
    expect(text).toMatch(/touchstone_call_seconds_count\{[^}]*method="Step"[^}]*\} 2/);
    expect(text).toMatch(/touchstone_live\{[^}]*server="world"[^}]*\} 1/);
    await client.unary(close, fixture.closeRequest());
    expect(await (await fetch(telemetry.prometheusUrl ?? "")).text()).toMatch(/touchstone_live\{[^}]*\} 0/);
  });

  it("sends a span for each call with episode and session ids, below the caller's, and nothing privileged", async () => {
    const { bodies, url } = await collector();
    const telemetry = await startTelemetry({ traces: url });
    const client = await served(telemetry);
    const traceId = "0af7651916cd43dd8448eb211c80319c";
    await client.unary(seed, fixture.seedRequest(), {
      metadata: { traceparent: `00-${traceId}-b7ad6b7169203331-01`, "touchstone-key": "r1" },
    });
    await client.unary(step, fixture.stepRequest(7), { metadata: { "touchstone-key": "r1" } });
    await telemetry[Symbol.asyncDispose]();
    const sent = Buffer.concat(bodies);
    for (const text of ["touchstone.session_id", "s1", "touchstone.rollout_id", "r1", "OUT_OF_ORDER"]) {
      expect(sent.includes(text), text).toBe(true);
    }
    expect(sent.includes(Buffer.from(traceId, "hex"))).toBe(true);
    expect(sent.includes(fixture.canary)).toBe(false);
  });

  it("ends well where nobody takes its spans, and tells what was lost", async () => {
    const lost: unknown[] = [];
    const telemetry = await startTelemetry({
      traces: "http://127.0.0.1:1/v1/traces",
      onLost: (error) => lost.push(error),
    });
    telemetry.tracer?.startSpan("work").end();
    await telemetry[Symbol.asyncDispose]();
    expect(lost).toHaveLength(1);
  });

  it("rejects an address that is taken", async () => {
    const port = await freePort();
    const first = await startTelemetry({ prometheus: { host: "127.0.0.1", port } });
    onTestFinished(() => first[Symbol.asyncDispose]());
    await expect(startTelemetry({ prometheus: { host: "127.0.0.1", port } })).rejects.toThrow(/EADDRINUSE/);
  });
});
