import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { expect, it } from "vitest";
import {
  Health,
  HealthCheckResponse_ServingStatus as ServingStatus,
} from "../../gen/grpc/health/v1/health_pb.js";
import type { HeldService } from "./held-service.js";
import { createRuntime } from "./runtime.js";
import { serve } from "./serve.js";

/** A service that holds one thing until it is let go. */
function holding(): { readonly service: HeldService; letGo(): void } {
  let live = 1;
  return {
    service: { routes: [], live: () => live, drain: async () => {} },
    letGo() {
      live = 0;
    },
  };
}

it("tells NOT_SERVING of the server as a whole while it drains (ALL-DRAIN-001)", async () => {
  const { service, letGo } = holding();
  await using server = await serve({ runtime: createRuntime(), services: [service] });
  const health = createClient(Health, createGrpcTransport({ baseUrl: server.url }));
  expect((await health.check({ service: "" })).status).toBe(ServingStatus.SERVING);

  const closed = server.close();
  expect((await health.check({ service: "" })).status).toBe(ServingStatus.NOT_SERVING);

  letGo();
  await closed;
});
