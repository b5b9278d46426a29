import {
  createRuntime,
  environmentService,
  type RunningServer,
  type Runtime,
  serve,
} from "../../servers/index.js";
import type { HeldService } from "../../servers/runtime/held-service.js";
import type { ReferenceVariant } from "./variants.js";
import { type ReferenceWorld, referenceWorld } from "./world.js";

/** What a server of the reference world is put together from: each part is a public seam of the runtime. */
export interface Parts {
  readonly world: ReferenceWorld;
  readonly runtime: Runtime;
  /** Put around the service that the port serves. */
  readonly around: (service: HeldService) => HeldService;
}

/** Milliseconds that held sessions are served after SIGTERM. */
const drainTimeoutMs = 5_000;

/** The parts of a launch, as they are right. */
export function referenceParts({ world, limits = {}, controllerToken }: ReferenceVariant): Parts {
  return {
    world: referenceWorld(world),
    runtime: createRuntime({
      limits,
      ...(controllerToken === undefined ? {} : { principals: { controllerToken } }),
    }),
    around: (service) => service,
  };
}

/** Serves what was put together, on a free port of loopback where none is given. */
export async function serveParts(
  { world, runtime, around }: Parts,
  { port = 0 }: { readonly port?: number } = {},
): Promise<RunningServer> {
  const service = around(environmentService(world, runtime));
  return await serve({ runtime, services: [service], port, drainTimeoutMs });
}

/** Serves as a subject that the suite starts: tells the address, drains on SIGTERM, ends when its stdin does. */
export async function serveAsSubject(server: RunningServer): Promise<void> {
  process.stdout.write(`${JSON.stringify({ address: new URL(server.url).host })}\n`);
  const gone = new Promise((resolve) => process.stdin.once("end", resolve));
  const stopped = new Promise((resolve) => process.once("SIGTERM", resolve));
  process.stdin.resume();
  // Whoever started it has gone, or waits no longer: nothing is drained for nobody.
  await Promise.race([gone, stopped.then(() => server.close())]);
}
