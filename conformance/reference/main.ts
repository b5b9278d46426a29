import { parseArgs } from "node:util";
import { createRuntime, environmentService, serve } from "../../servers/index.js";
import { isVariantName, type ReferenceVariant, referenceVariants } from "./variants.js";
import { referenceWorld } from "./world.js";

/** Milliseconds that held sessions are served after SIGTERM. */
const drainTimeoutMs = 5_000;

/**
 * Serves the reference world as a subject that the suite starts (`--exec`): prints `{"address":"host:port"}`, drains on
 * SIGTERM, and ends when its stdin does.
 */
async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      variant: { type: "string", default: "full" },
      port: { type: "string", default: "0" },
    },
  });
  const { variant: name } = values;
  if (!isVariantName(name)) {
    const known = Object.keys(referenceVariants).join(", ");
    throw new Error(`--variant: expected one of ${known}, found ${name}`);
  }
  const port = Number(values.port);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new Error(`--port: expected 0 to 65535, found ${values.port}`);
  }
  const variant: ReferenceVariant = referenceVariants[name];
  const { controllerToken } = variant;
  const runtime = createRuntime({
    ...(variant.limits === undefined ? {} : { limits: variant.limits }),
    ...(controllerToken === undefined ? {} : { principals: { controllerToken } }),
  });
  const service = environmentService(referenceWorld(variant.world), runtime);
  const server = await serve({ runtime, services: [service], port, drainTimeoutMs });
  process.stdout.write(`${JSON.stringify({ address: new URL(server.url).host })}\n`);

  const gone = new Promise((resolve) => process.stdin.once("end", resolve));
  const stopped = new Promise((resolve) => process.once("SIGTERM", resolve));
  process.stdin.resume();
  // Whoever started it has gone, or waits no longer: nothing is drained for nobody.
  await Promise.race([gone, stopped.then(() => server.close())]);
  process.exit(0);
}

await main();
