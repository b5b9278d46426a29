import { drivers } from "../../servers/episode/drivers/index.js";
import { episodeService } from "../../servers/episode/episode-service.js";
import { createRuntime, type RunningServer, type Runtime, serve } from "../../servers/index.js";
import { Channels, type Dial } from "../../servers/runtime/dial.js";
import type { HeldService } from "../../servers/runtime/held-service.js";
import type { Part } from "../peers/cast.js";

/** What an episode server under the suite is put together from. */
export interface EpisodeParts {
  readonly runtime: Runtime;
  /** Where the parts are that the runner plays. */
  readonly urls: Readonly<Record<Part, string>>;
  /** Put around the service that the port serves. */
  readonly around: (service: HeldService) => HeldService;
  /** Put around the way to the parts. */
  readonly dial: (dial: Dial) => Dial;
}

/** The parts as they are right: bound to what the runner plays, as its variables tell. */
export function episodeParts(urls: Readonly<Record<Part, string>>): EpisodeParts {
  return { runtime: createRuntime(), urls, around: (service) => service, dial: (dial) => dial };
}

/** Addresses of the parts, by the variables that the runner sets. Throws an Error where one is missing. */
export function urlsOfEnvironment(env: NodeJS.ProcessEnv): Readonly<Record<Part, string>> {
  const read = (name: string): string => {
    const url = env[name];
    if (url === undefined)
      throw new Error(`${name}: expected the URL of a part that the runner plays, found nothing`);
    return url;
  };
  return {
    environment: read("TOUCHSTONE_ENVIRONMENT"),
    agent: read("TOUCHSTONE_AGENT"),
    model: read("TOUCHSTONE_MODEL"),
  };
}

/** Milliseconds that episodes may go on after SIGTERM. */
const drainTimeoutMs = 2_000;

/** Serves episodes over the parts. */
export async function serveEpisodes(
  { runtime, urls, around, dial }: EpisodeParts,
  { port = 0 }: { readonly port?: number } = {},
): Promise<RunningServer> {
  const channels = new Channels();
  const service = episodeService({
    runtime,
    drivers: Object.values(drivers),
    dial: dial(channels.dial),
    version: "1.0.0",
    bindings: {
      environments: { environment: { url: urls.environment } },
      agents: { agent: { url: urls.agent } },
      models: { model: { url: urls.model } },
      sandboxes: [],
    },
    watch: undefined,
  });
  return await serve({ runtime, services: [around(service)], port, drainTimeoutMs });
}
