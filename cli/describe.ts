import { type DescMessage, type DescService, toJsonString } from "@bufbuild/protobuf";
import { Command } from "commander";
import { CallError, createClient, http2Channel } from "../clients/index.js";
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

/** UNIMPLEMENTED: the server has no such service. */
const unimplemented = 12;
const askMs = 10_000;

interface DescribeFlags {
  readonly credential?: string;
}

/** `touchstone describe URL` */
export function describeCommand(): Command {
  return new Command("describe")
    .description("Ask a server what it is: every touchstone.v1 service that it has, as JSON.")
    .argument("<url>", "where it is, such as http://127.0.0.1:7001")
    .option("--credential <token>", "bearer token")
    .action(async (url: string, { credential }: DescribeFlags) => {
      const channel = http2Channel({ url });
      const found: Record<string, unknown> = {};
      try {
        for (const service of services) {
          const answer = await ask(service, channel, credential);
          if (answer !== undefined) found[service.typeName] = answer;
        }
      } catch (error) {
        throw new ConfigError([`${url}: ${error instanceof CallError ? error.rawMessage : String(error)}`]);
      } finally {
        await channel.close();
      }
      if (Object.keys(found).length === 0)
        throw new ConfigError([`${url}: serves no service of touchstone.v1`]);
      process.stdout.write(`${JSON.stringify(found, null, 2)}\n`);
    });
}

async function ask(
  service: DescService,
  channel: ReturnType<typeof http2Channel>,
  credential: string | undefined,
): Promise<unknown> {
  const client = createClient(service, channel, {
    ...(credential === undefined ? {} : { headers: { authorization: `Bearer ${credential}` } }),
  }) as unknown as { describe: (request: object, options: object) => Promise<unknown> };
  try {
    const answer = await client.describe({}, { timeoutMs: askMs, repeat: false });
    const output = service.method["describe"]?.output as DescMessage;
    return JSON.parse(toJsonString(output, answer as never));
  } catch (error) {
    if (error instanceof CallError && Number(error.code) === unimplemented) return undefined;
    throw error;
  }
}
