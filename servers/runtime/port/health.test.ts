import { type Client, Code, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterEach, describe, expect, it } from "vitest";
import {
  Health as HealthService,
  HealthCheckResponse_ServingStatus as Status,
} from "../../../gen/grpc/health/v1/health_pb.js";
import { createHealth, type Health, openPort } from "./index.js";

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function open(): Promise<{
  health: Health;
  client: Client<typeof HealthService>;
  close(): Promise<void>;
}> {
  const health = createHealth(["a.Service"]);
  const port = await openPort({ routes: [health.route], host: "127.0.0.1", port: 0 });
  cleanups.push(() => port.close({ graceMs: 0 }));
  const client = createClient(HealthService, createGrpcTransport({ baseUrl: port.url }));
  return { health, client, close: () => port.close({ graceMs: 60_000 }) };
}

describe("grpc.health.v1", () => {
  it("tells the state of the server and of each service", async () => {
    const { health, client } = await open();
    expect((await client.check({})).status).toBe(Status.SERVING);
    expect((await client.check({ service: "a.Service" })).status).toBe(Status.SERVING);
    health.setServing("a.Service", false);
    expect((await client.check({ service: "a.Service" })).status).toBe(Status.NOT_SERVING);
    expect((await client.check({})).status).toBe(Status.SERVING);
    await expect(client.check({ service: "other" })).rejects.toMatchObject({ code: Code.NotFound });
    const { statuses } = await client.list({});
    expect(Object.entries(statuses).map(([name, { status }]) => [name, status])).toEqual([
      ["", Status.SERVING],
      ["a.Service", Status.NOT_SERVING],
    ]);
  });

  it("tells watchers of every change, also of a service that appears", async () => {
    const { health, client } = await open();
    const seen: Status[] = [];
    for await (const { status } of client.watch({ service: "late.Service" })) {
      seen.push(status);
      if (seen.length === 1) health.setServing("late.Service", true);
      if (seen.length === 2) health.setServing("late.Service", false);
      if (seen.length === 3) break;
    }
    expect(seen).toEqual([Status.SERVICE_UNKNOWN, Status.SERVING, Status.NOT_SERVING]);
  });

  it("tells watchers the end, so that a drain does not wait for them", async () => {
    const { health, client, close } = await open();
    const seen: Status[] = [];
    let closed: Promise<void> | undefined;
    const watching = async (): Promise<void> => {
      for await (const { status } of client.watch({})) {
        seen.push(status);
        if (closed !== undefined) continue;
        health.close();
        closed = close();
      }
    };
    await expect(watching()).rejects.toMatchObject({ code: Code.Unavailable });
    await closed;
    expect(seen).toEqual([Status.SERVING, Status.NOT_SERVING]);
    health.setServing("", true);
  });
});
