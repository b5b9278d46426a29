import { mkdtemp, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { expect, it } from "vitest";
import { environmentClient, episodeClient, http2Channel } from "../../clients/index.js";
import { hasOpenssl, makeCertificates } from "../../test/transport/certificates.js";
import { ConfigError } from "./config-error.js";
import { loadConfig } from "./load-config.js";
import { loadServers } from "./load-servers.js";
import { type StartedServers, startServers } from "./start-servers.js";

const log = pino({ level: "silent" });

async function start(servers: string, only?: readonly string[]): Promise<StartedServers> {
  const file = join(await mkdtemp(join(tmpdir(), "touchstone-start-")), "c.yaml");
  await writeFile(file, `servers:\n${servers}`);
  const config = await loadConfig(file);
  return await startServers({ config, loaded: await loadServers(config, only), log });
}

/** A port of the loopback interface that something holds until the test ends. */
async function heldPort(): Promise<AsyncDisposable & { readonly port: number }> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("no address");
  return {
    port: address.port,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

/** A port of the loopback interface that was free a moment ago. */
async function freePort(): Promise<number> {
  await using held = await heldPort();
  return held.port;
}

async function bindings(started: StartedServers) {
  const address = started.servers.get("episodes")?.address;
  if (address === undefined) throw new Error("no episode server");
  const channel = http2Channel(address);
  const described = await episodeClient(channel).describe({});
  await channel.close();
  return described.bindings;
}

const all = `
  episodes: { episode: single_agent_turn }
  maths: { environment: reasoning }
  oracle: { agent: oracle }
  script: { model: echo }
  far: { agent: "http://127.0.0.1:9" }
`;

it("starts servers on ports of their own and binds them by name, whatever their order", async () => {
  await using started = await start(all);
  const urls = [...started.servers.values()].map(({ address }) => address.url);
  expect(new Set(urls).size).toBe(5);
  for (const url of urls) expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  expect(await bindings(started)).toMatchObject({
    environments: ["maths"],
    agents: ["oracle", "far"],
    models: ["script"],
  });
});

it("binds what another process will serve at its listen address, and nothing that nobody can find", async () => {
  const port = await freePort();
  await using started = await start(
    `
  episodes: { episode: single_agent_turn }
  maths: { environment: reasoning, listen: "127.0.0.1:${port}" }
  oracle: { agent: oracle }
`,
    ["episodes"],
  );
  expect([...started.servers.keys()]).toEqual(["episodes"]);
  expect(await bindings(started)).toMatchObject({ environments: ["maths"], agents: [] });
});

it("keeps the limits of an entry and tells them", async () => {
  await using started = await start(
    "  maths: { environment: reasoning, max_sessions: 3, queue_timeout: 1500ms, max_lifetime: 2h }\n",
  );
  const channel = http2Channel(started.servers.get("maths")?.address ?? { url: "" });
  const { service } = await environmentClient(channel).describe({});
  await channel.close();
  expect(service?.limits).toMatchObject({
    maxSessions: 3,
    queueTimeout: { seconds: 1n, nanos: 500_000_000 },
    maxLifetime: { seconds: 7200n },
  });
});

it("names the server whose port is in use, and leaves nothing behind", async () => {
  await using held = await heldPort();
  const free = await freePort();
  const servers = (port: number) => `
  first: { environment: reasoning, listen: "127.0.0.1:${free}" }
  second: { environment: reasoning, listen: "127.0.0.1:${port}" }
`;
  const error: unknown = await start(servers(held.port)).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ConfigError);
  expect((error as ConfigError).problems).toEqual([
    expect.stringMatching(
      new RegExp(
        `c\\.yaml: servers\\.second: cannot listen on 127\\.0\\.0\\.1:${held.port}: the address is in use`,
      ),
    ),
  ]);
  // The first one's port is free again.
  await using started = await start(servers(0));
  expect(started.servers.size).toBe(2);
});

it("refuses to listen where credentials would be needed", async () => {
  await expect(start('  maths: { environment: reasoning, listen: "0.0.0.0:0" }\n')).rejects.toThrow(
    /servers\.maths: listening on 0\.0\.0\.0 needs feature PRINCIPALS/,
  );
});

it.skipIf(!hasOpenssl())(
  "serves TLS from files beside the configuration, and trusts what it says",
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "touchstone-tls-"));
    const { authority, server } = makeCertificates();
    await writeFile(join(folder, "ca.pem"), authority);
    await writeFile(join(folder, "cert.pem"), server.cert);
    await writeFile(join(folder, "key.pem"), server.key);
    const file = join(folder, "c.yaml");
    await writeFile(
      file,
      "servers:\n  maths: { environment: reasoning, ca: ca.pem, tls: { cert: cert.pem, key: key.pem } }\n",
    );
    const config = await loadConfig(file);
    await using started = await startServers({ config, loaded: await loadServers(config), log });
    const address = started.servers.get("maths")?.address ?? { url: "" };
    expect(address.url).toMatch(/^https:/);
    const channel = http2Channel(address);
    expect((await environmentClient(channel).describe({})).environment).toBe("reasoning");
    await channel.close();
  },
);
