import { type DescMessage, type DescService, toJson } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { Command } from "commander";
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

/** `touchstone describe URL` */
export function describeCommand(): Command {
  return new Command("describe")
    .description("Ask a server what it is: every touchstone.v1 service that it has, as JSON.")
    .argument("<url>", "where it is, such as http://127.0.0.1:7001")
    .option("--credential <token>", "bearer token; others on this machine may see it while the command runs")
    .action(async (url: string, { credential }: { readonly credential?: string }) => {
      const channel = open(url);
      try {
        const found = await describe(channel, credential);
        if (Object.keys(found).length === 0) {
          throw new ConfigError([
            `${url}: expected a service of touchstone.v1, found none; check the address`,
          ]);
        }
        process.stdout.write(`${JSON.stringify(found, null, 2)}\n`);
      } finally {
        await channel.close();
      }
    });
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
