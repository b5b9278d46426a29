import type { AgentDefinition } from "../agent/define-agent.js";
import type { DriverDefinition } from "../episode/define-driver.js";
import type { ModelDefinition } from "../model/define-model.js";
import type { Clock } from "../runtime/clock.js";
import { nearest } from "../runtime/nearest.js";
import { chosenValue } from "./check-servers.js";
import { choose } from "./choose.js";
import { ConfigError } from "./config-error.js";
import {
  type FoundEnvironment,
  findAgent,
  findDrivers,
  findEnvironment,
  findModel,
  type Place,
} from "./implementations.js";
import type { Config } from "./load-config.js";
import { partProblems } from "./server-parts.js";
import type { ServerEntry, ServerKind } from "./server-schema.js";

/** What a server does, found and checked; nothing is started yet. */
export type Implementation =
  | FoundEnvironment
  | { readonly kind: "agent"; readonly definition: AgentDefinition<unknown> }
  | { readonly kind: "model"; readonly definition: ModelDefinition }
  | { readonly kind: "episode"; readonly drivers: readonly DriverDefinition[] }
  | { readonly kind: "elsewhere"; readonly url: string };

/** A server of a configuration that is ready to be started, or runs elsewhere. */
export interface LoadedServer {
  readonly name: string;
  readonly kind: ServerKind;
  readonly server: ServerEntry;
  readonly implementation: Implementation;
}

/**
 * Finds what the servers of a configuration are made of, those named or all: names of ours, modules, options. Starts
 * nothing. Throws ConfigError with every problem found.
 */
export async function loadServers(
  config: Config,
  only?: readonly string[],
  { clock }: { readonly clock?: Clock | undefined } = {},
): Promise<ReadonlyMap<string, LoadedServer>> {
  const unfit = partProblems(config.servers);
  if (unfit.length > 0) throw config.refuse(unfit);
  const known = [...config.servers.keys()];
  const problems = (only ?? [])
    .filter((name) => !config.servers.has(name))
    .map((name) => `no server "${name}"${nearest(name, known)}`);
  const loaded = new Map<string, LoadedServer>();
  for (const [name, server] of config.servers) {
    if (only !== undefined && !only.includes(name)) continue;
    const { options = {} } = server.entry;
    try {
      const implementation = await load(server, {
        at: `servers.${name}`,
        folder: config.folder,
        options,
        clock,
      });
      loaded.set(name, { name, kind: server.kind, server, implementation });
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      problems.push(...error.problems);
    }
  }
  if (problems.length > 0) throw new ConfigError(problems.map((problem) => `${config.file}: ${problem}`));
  return loaded;
}

async function load(server: ServerEntry, place: Place): Promise<Implementation> {
  const chosen = choose(chosenValue(server));
  if (chosen.way === "url") return { kind: "elsewhere", url: chosen.url };
  switch (server.kind) {
    case "environment":
      if (server.entry.sandbox !== undefined) {
        throw new ConfigError([`${place.at}.sandbox: this environment makes no boxes; leave it out`]);
      }
      return await findEnvironment(chosen, place);
    case "agent":
      return { kind: "agent", definition: await findAgent(chosen, place) };
    case "model":
      return { kind: "model", definition: await findModel(chosen, place) };
    case "episode": {
      const { episode } = server.entry;
      return {
        kind: "episode",
        drivers: await findDrivers(typeof episode === "string" ? [episode] : episode, place),
      };
    }
    case "sandbox":
      throw new ConfigError([`${place.at}: there is no sandbox of ours; give the URL of a sandbox server`]);
  }
}
