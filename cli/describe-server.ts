import { type DescMessage, type DescService, toJson } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { CallError, type Channel, createClient } from "../clients/index.js";
import { ConfigError } from "../servers/composition/config-error.js";
import { openChannel, type ReachFlags, reachHeaders } from "./reach-options.js";
import { describedServices } from "./services.js";

/** Milliseconds that a server has to say what it is. */
const askMs = 10_000;

/**
 * What a server says of itself, by the full name of each touchstone.v1 service that it has. Throws ConfigError where it
 * cannot be asked, or has none.
 */
export async function describeServer(url: string, flags: ReachFlags): Promise<object> {
  const channel = openChannel(url, flags);
  try {
    const found: Record<string, unknown> = {};
    for (const service of describedServices) {
      const answer = await describeService(service, channel, reachHeaders(flags));
      if (answer !== undefined) found[service.typeName] = answer;
    }
    if (Object.keys(found).length > 0) return found;
    throw new ConfigError([`${url}: expected a service of touchstone.v1, found none; check the address`]);
  } finally {
    await channel.close();
  }
}

/** What a service of a server says of itself, as JSON; undefined: the server has no such service. Throws ConfigError. */
export async function describeService(
  service: DescService,
  channel: Channel,
  headers: Readonly<Record<string, string>>,
): Promise<unknown> {
  const client = createClient(service, channel, {
    headers,
    timeoutMs: askMs,
    repeat: false,
  }) as unknown as { describe: (request: object) => Promise<never> };
  try {
    return toJson(service.method["describe"]?.output as DescMessage, await client.describe({}));
  } catch (error) {
    if (!(error instanceof CallError)) throw error;
    if (error.code === Code.Unimplemented) return undefined;
    throw new ConfigError([`${channel.target}: cannot be asked what it is: ${error.rawMessage}`]);
  }
}
