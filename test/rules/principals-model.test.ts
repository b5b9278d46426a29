import { expect, describe as group, it } from "vitest";
import { Feature } from "../../gen/index.js";
import { ask, bearer, method, openRequest, user } from "../../servers/model/fixtures/served-model.js";
import { modelService } from "../../servers/model/model-service.js";
import { echo } from "../../servers/model/models/echo/index.js";
import { createRuntime } from "../../servers/runtime/runtime.js";
import { serve } from "../../servers/runtime/serve.js";
import { BareClient } from "../bare-client.js";

group("PRINCIPALS of a model server", () => {
  it("serves its controller by the credential, holders of keys by their keys, and nobody else (ALL-PRIN-006, MDL-GATE-010)", async () => {
    const runtime = createRuntime({ principals: { controllerToken: "of-the-model" } });
    await using server = await serve({
      runtime,
      services: [modelService({ definition: await echo(), runtime })],
    });
    const client = new BareClient(server.url);
    const controller = bearer("of-the-model");
    const described = await client.unary(method.describe, {}, controller);
    expect(described.message?.service?.features).toContain(Feature.PRINCIPALS);
    const hello = ask([user("hello")]);
    const opened = await client.unary(method.openGateway, openRequest("g1"), controller);
    const key = bearer(opened.message?.accesses[0]?.apiKey ?? "");
    for (const options of [controller, key])
      expect((await client.unary(method.generate, hello, options)).error).toBeUndefined();
    for (const options of [{}, bearer("wrong")]) {
      expect((await client.unary(method.describe, {}, options)).error?.reason).toBe("CREDENTIALS");
      expect((await client.unary(method.generate, hello, options)).error?.reason).toBe("CREDENTIALS");
      expect((await client.unary(method.openGateway, openRequest("g2"), options)).error?.reason).toBe(
        "CREDENTIALS",
      );
    }
    expect((await client.unary(method.describe, {}, key)).error?.reason).toBe("PERMISSION");
    expect((await client.unary(method.openGateway, openRequest("g2"), key)).error?.reason).toBe("PERMISSION");
    client.close();
  });
});
