import type { DescMethod } from "@bufbuild/protobuf";
import type { Channel } from "../../clients/index.js";
import { ConfigError } from "../../servers/composition/config-error.js";
import { nearest } from "../../servers/runtime/nearest.js";
import { describeService } from "../describe-server.js";
import { contractServices, describedServices } from "../services.js";

/** Names that people use beside the contract's own. */
const aliases: Readonly<Record<string, string>> = {
  tools: "listtools",
  tasks: "listtasks",
  watch: "watchsteps",
};

/** `keep-alive`, `keepAlive`, `KeepAlive` and `keepalive` are one name. */
function plain(name: string): string {
  return name.toLowerCase().replace(/[-_]/g, "");
}

/** `KeepAlive` as people type it. */
function kebab(name: string): string {
  return name.replace(/(?<=[a-z])[A-Z]/g, "-$&").toLowerCase();
}

const packagePrefix = /^touchstone\.v1\./i;

/** The service that a name means: `touchstone.v1.EnvironmentService`, `EnvironmentService`, `environment`. */
function isService(typeName: string, asked: string): boolean {
  const short = plain(typeName.replace(packagePrefix, ""));
  const name = plain(asked.replace(packagePrefix, ""));
  return name === short || `${name}service` === short || `${name}sessionservice` === short;
}

/**
 * The method that is meant: `seed`, `environment/seed` or `touchstone.v1.EnvironmentService/Seed`. Where several services
 * have it, the one that the server has. Throws ConfigError.
 */
export async function findMethod(
  asked: string,
  channel: Channel,
  headers: Readonly<Record<string, string>>,
): Promise<DescMethod> {
  const [, service, last = ""] = /^(?:(.+)[/.])?([^/.]+)$/.exec(asked) ?? [];
  const name = aliases[plain(last)] ?? plain(last);
  const among = contractServices.filter(
    ({ typeName }) => service === undefined || isService(typeName, service),
  );
  const found = among.flatMap(({ methods }) => methods.filter((method) => plain(method.name) === name));
  const [only] = found;
  if (only === undefined) {
    const known = [...new Set(among.flatMap(({ methods }) => methods.map((method) => kebab(method.name))))];
    throw new ConfigError([
      `expected a method of the contract, found "${asked}"${nearest(kebab(last), known)}`,
    ]);
  }
  if (found.length === 1) return only;
  const there: DescMethod[] = [];
  for (const method of found) {
    if (!describedServices.includes(method.parent)) continue;
    if ((await describeService(method.parent, channel, headers)) !== undefined) there.push(method);
  }
  const [sole] = there;
  if (sole !== undefined && there.length === 1) return sole;
  const choices = (there.length === 0 ? found : there).map(
    (method) => `${method.parent.typeName.replace(packagePrefix, "")}/${method.name}`,
  );
  const problem = there.length === 0 ? "has none of" : "has several of";
  throw new ConfigError([`${channel.target} ${problem} ${choices.join(", ")}; name one`]);
}

const kinds = {
  unary: "",
  server_streaming: "stream of answers",
  client_streaming: "stream of requests",
  bidi_streaming: "streams of requests and answers",
} as const;

/** The methods of the services that a server has, a line each. Throws ConfigError. */
export async function listMethods(
  channel: Channel,
  headers: Readonly<Record<string, string>>,
): Promise<string[]> {
  const lines: string[] = [];
  for (const service of describedServices) {
    if ((await describeService(service, channel, headers)) === undefined) continue;
    for (const method of service.methods) {
      lines.push(`${service.typeName}/${method.name}\t${kinds[method.methodKind]}`.trimEnd());
    }
  }
  if (lines.length > 0) return lines;
  throw new ConfigError([
    `${channel.target}: expected a service of touchstone.v1, found none; check the address`,
  ]);
}
