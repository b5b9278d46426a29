import { worlds } from "../environment/worlds/index.js";
import { nearest } from "../runtime/nearest.js";
import type { Problem } from "../runtime/problem.js";
import { chosenValue } from "./check-servers.js";
import { choose } from "./choose.js";
import type { ServerEntry } from "./server-schema.js";

type Servers = ReadonlyMap<string, ServerEntry>;

/** Environment servers of its configuration that a server is put together from, by the option that names them. */
export function partsOf(server: ServerEntry): ReadonlyMap<string, string> {
  const chosen = choose(chosenValue(server));
  if (server.kind !== "environment" || chosen.way !== "ours") return new Map();
  const world = Object.hasOwn(worlds, chosen.name) ? worlds[chosen.name] : undefined;
  const { options = {} } = server.entry;
  // Options that do not fit are told where the environment is loaded.
  if (world === undefined || !("parts" in world) || !world.options.safeParse(options).success)
    return new Map();
  return world.parts(options);
}

/** Servers with all that they are put together from, parts of parts too. */
export function withParts(servers: Servers, names: Iterable<string>): string[] {
  const all = new Set(names);
  // What is added on the way is visited too.
  for (const name of all) {
    const server = servers.get(name);
    if (server !== undefined) for (const part of partsOf(server).values()) all.add(part);
  }
  return [...all];
}

/** What is wrong with the parts of servers: names that are no environment server, and circles. */
export function partProblems(servers: Servers): readonly Problem[] {
  const environments = [...servers].flatMap(([name, { kind }]) => (kind === "environment" ? [name] : []));
  const problems: Problem[] = [];
  const told = new Set<string>();
  for (const [name, server] of servers) {
    for (const [option, part] of partsOf(server)) {
      const refuse = (text: string): void => {
        problems.push({ path: ["servers", name, "options", option], text });
      };
      const circle = circleThrough([name, part], servers);
      if (!environments.includes(part)) {
        refuse(`no environment server "${part}"${nearest(part, environments)}`);
      } else if (circle !== undefined && !circle.some((each) => told.has(each))) {
        for (const each of circle) told.add(each);
        refuse(
          `expected servers that do without each other, found a circle: ${circle.join(" needs ")}; let one of them name another server`,
        );
      }
    }
  }
  return problems;
}

/** The way from a server over its parts back to itself, where there is one. */
function circleThrough(way: readonly string[], servers: Servers): readonly string[] | undefined {
  const [first, last] = [way[0], way.at(-1)];
  if (first === last) return way;
  const server = last === undefined ? undefined : servers.get(last);
  if (server === undefined) return undefined;
  for (const part of partsOf(server).values()) {
    if (part !== first && way.includes(part)) continue;
    const circle = circleThrough([...way, part], servers);
    if (circle !== undefined) return circle;
  }
  return undefined;
}
