import { describe, expect, it } from "vitest";
import { EnvironmentService } from "../../gen/index.js";
import { BareClient } from "../../test/bare-client.js";
import { route } from "./route.js";
import { createRuntime } from "./runtime.js";
import { serve } from "./serve.js";

function revoked(): unknown {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

function untouchable(): unknown {
  const no = (): never => {
    throw new Error("no");
  };
  return new Proxy({}, { get: no, has: no, getPrototypeOf: no });
}

describe("what a service throws outside of an operation", () => {
  it.each([
    ["a proxy that throws at every touch", untouchable],
    ["a proxy that was revoked", revoked],
    ["nothing at all", () => undefined],
  ])(
    "has its reason in the status, whatever it is: %s (ALL-FAIL-003, ALL-FAIL-005)",
    async (_what, thrown) => {
      const runtime = createRuntime();
      const fail = async (): Promise<never> => {
        throw thrown();
      };
      const routes = [
        route(runtime, EnvironmentService, {
          describe: fail,
          async *watchSteps() {
            yield await fail();
          },
        }),
      ];
      await using server = await serve({
        runtime,
        services: [{ routes, live: () => 0, drain: async () => {} }],
      });
      const client = new BareClient(server.url);
      const { describe, watchSteps } = EnvironmentService.method;
      for (const { error } of [
        await client.unary(describe, {}),
        await client.stream(watchSteps, { sessionId: "s1" }),
      ]) {
        expect(error).toMatchObject({ code: "INTERNAL", reason: "OPERATION_FAILED" });
        expect(error?.failure).toBeDefined();
      }
      client.close();
    },
  );
});
