import type { LoadedServer } from "./load-servers.js";
import { partsOf } from "./server-parts.js";

/** A server that is to be started. */
export interface Ordered {
  readonly server: LoadedServer;
  /** Names of those that it needs, which are started before it and end after it. */
  readonly needs: readonly string[];
}

/**
 * Servers in the order in which they are started: an environment that is put together from others needs those, a driver
 * all that are none, one whose episodes are played elsewhere other drivers too.
 */
export function startOrder(loaded: ReadonlyMap<string, LoadedServer>): readonly Ordered[] {
  const ordered = new Map<string, Ordered>();
  const place = (server: LoadedServer): void => {
    if (ordered.has(server.name)) return;
    const needs = needsOf(server, loaded);
    for (const need of needs) {
      const needed = loaded.get(need);
      if (needed !== undefined) place(needed);
    }
    ordered.set(server.name, { server, needs });
  };
  for (const server of loaded.values()) place(server);
  return [...ordered.values()];
}

function needsOf(
  { server, implementation }: LoadedServer,
  loaded: ReadonlyMap<string, LoadedServer>,
): string[] {
  if (implementation.kind !== "episode") return [...partsOf(server).values()];
  const relay = relays(implementation);
  const others = [...loaded.values()].filter(
    ({ kind, implementation: other }) => kind !== "episode" || (relay && !relays(other)),
  );
  return others.map(({ name }) => name);
}

/** A driver of it has episodes played elsewhere. */
function relays(implementation: LoadedServer["implementation"]): boolean {
  return (
    implementation.kind === "episode" &&
    implementation.drivers.some(({ elsewhere }) => elsewhere !== undefined)
  );
}
