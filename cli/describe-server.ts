import { type DescMessage, type DescService, toJson } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { CallError, type Channel, createClient, http2Channel } from "../clients/index.js";
import {
  AgentSessionService,
  EnvironmentService,
  EpisodeService,
  ModelService,
  SandboxService,
} from "../gen/index.js";
import { ConfigError } from "../servers/composition/config-error.js";

const services = [
  EnvironmentService,
  AgentSessionService,
  ModelService,
  SandboxService,
  EpisodeService,
] as const;

/** Milliseconds that a server has to say what it is. */
const askMs = 10_000;

/**
 * What a server says of itself, by the full name of each touchstone.v1 service that it has. Throws ConfigError where it
 * cannot be asked, or has none.
 */
export async function describeServer(url: string, credential: string | undefined): Promise<object> {
  const channel = open(url);
  try {
    const found = await describe(channel, credential);
    if (Object.keys(found).length > 0) return found;
    throw new ConfigError([`${url}: expected a service of touchstone.v1, found none; check the address`]);
  } finally {
    await channel.close();
  }
}

function open(url: string): Channel {
  try {
    return http2Channel({ url });
  } catch (error) {
    throw new ConfigError([error instanceof Error ? error.message : String(error)]);
  }
}

/** What each service of a server says of itself, by the service's name. */
async function describe(channel: Channel, credential: string | undefined): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {};
  for (const service of services) {
    const answer = await ask(service, channel, credential);
    if (answer !== undefined) found[service.typeName] = answer;
  }
  return found;
}

async function ask(service: DescService, channel: Channel, credential: string | undefined): Promise<unknown> {
  const client = createClient(service, channel, {
    ...(credential === undefined ? {} : { headers: { authorization: `Bearer ${credential}` } }),
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
