import { environmentService } from "../../servers/environment/environment-service.js";
import { createRuntime } from "../../servers/runtime/runtime.js";
import { serve } from "../../servers/runtime/serve.js";
import type { PointServer } from "../points/point.js";
import { counter } from "./counter.js";

/** Serves the counter as any environment is served: all rules of the contract, default limits, records in memory. */
export async function serveCounter(): Promise<PointServer> {
  const runtime = createRuntime();
  const service = environmentService(counter, runtime);
  const server = await serve({ runtime, services: [service] });
  return {
    address: server.url,
    live: () => service.live(),
    close: () => server.close({ drainTimeoutMs: 0 }),
  };
}
