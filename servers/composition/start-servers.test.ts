import { createServer } from "node:net";
import { join } from "node:path";
import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { environmentClient, episodeClient, http2Channel } from "../../clients/index.js";
import { Feature, RewardAuthority } from "../../gen/index.js";
import { temporaryFolder } from "../../test/temporary-folder.js";
import { type Certificates, hasOpenssl, makeCertificates } from "../../test/transport/certificates.js";
import { ConfigError } from "./config-error.js";
import { loadConfig } from "./load-config.js";
import { loadServers } from "./load-servers.js";
import { type StartedServers, startServers } from "./start-servers.js";

const log = pino({ level: "silent" });
const none = { cert: "", key: "" };
const noCertificates: Certificates = { authority: "", server: none, client: none };

async function start(servers: string, only?: readonly string[]): Promise<StartedServers> {
  const folder = temporaryFolder({ "c.yaml": `servers:\n${servers}` });
  const config = await loadConfig(join(folder, "c.yaml"));
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

it("starts a driver whose episodes another one plays behind that, whatever their order", async () => {
  await using started = await start(`
  relay: { episode: external }
  near: { episode: single_agent_turn }
  world: { environment: reasoning }
  silent: { agent: noop }
`);
  const address = started.servers.get("relay")?.address;
  if (address === undefined) throw new Error("no episode server");
  await using channel = http2Channel(address);
  const { outcome } = await episodeClient(channel)
    .run({
      context: { episodeId: { rolloutId: "r1" } },
      environment: "world",
      agents: [{ agentId: "agent", agent: "silent" }],
      source: {
        case: "task",
        value: {
          taskId: { id: "q1" },
          environment: "reasoning",
          publicJson: '{"kind":"arithmetic","index":3}',
        },
      },
    })
    .result();
  expect(outcome).toMatchObject({
    case: "verdict",
    value: { reward: { value: 0 }, provenance: { authority: RewardAuthority.EXTERNAL } },
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

it("demands the credential that it is given, calls with it, and tells agents the public address", async () => {
  await using started = await start(`
  maths: { environment: reasoning, credential: secret-token, listen: "0.0.0.0:0", public_url: "http://env.example:7000" }
`);
  const address = started.servers.get("maths")?.address ?? { url: "" };
  expect(address.credential).toBe("secret-token");
  const channel = http2Channel(address);
  const client = environmentClient(channel);
  await expect(client.describe({})).rejects.toMatchObject({ reason: "CREDENTIALS" });
  const headers = { authorization: "Bearer secret-token" };
  expect((await client.describe({}, { headers })).service?.features).toContain(Feature.PRINCIPALS);
  const { session } = await client.seed(
    {
      sessionId: "s",
      context: { episodeId: { rolloutId: "r" } },
      source: {
        case: "task",
        value: {
          taskId: { id: "t" },
          environment: "reasoning",
          publicJson: '{"kind":"arithmetic","index":0}',
        },
      },
    },
    { headers },
  );
  expect(session?.agents[0]?.toolAccesses).toMatchObject([
    {
      way: {
        value: { endpoint: { url: "http://env.example:7000" }, bearerToken: expect.stringMatching(/.{22}/) },
      },
    },
  ]);
  await channel.close();
});

describe.skipIf(!hasOpenssl())("TLS", () => {
  const { authority, server, client } = hasOpenssl() ? makeCertificates() : noCertificates;
  const files = {
    "ca.pem": authority,
    "cert.pem": server.cert,
    "key.pem": server.key,
    "client.pem": client.cert,
    "client-key.pem": client.key,
  };

  async function startIn(servers: string): Promise<StartedServers> {
    const folder = temporaryFolder({ ...files, "c.yaml": `servers:\n${servers}` });
    const config = await loadConfig(join(folder, "c.yaml"));
    return await startServers({ config, loaded: await loadServers(config), log });
  }

  async function described(started: StartedServers, name: string) {
    const channel = http2Channel(started.servers.get(name)?.address ?? { url: "" });
    try {
      return (await environmentClient(channel).describe({}, { repeat: false })).environment;
    } finally {
      await channel.close();
    }
  }

  it("serves from files beside the configuration, and trusts what it says", async () => {
    await using started = await startIn(
      "  maths: { environment: reasoning, ca: ca.pem, tls: { cert: cert.pem, key: key.pem } }\n",
    );
    expect(started.servers.get("maths")?.address.url).toMatch(/^https:/);
    expect(await described(started, "maths")).toBe("reasoning");
  });

  it("calls a server that asks who calls, here and elsewhere, and lets a driver call it", async () => {
    const shown = "ca: ca.pem, client_cert: { cert: client.pem, key: client-key.pem }";
    await using started = await startIn(
      `  maths: { environment: reasoning, ${shown}, tls: { cert: cert.pem, key: key.pem, client_ca: ca.pem } }\n`,
    );
    expect(await described(started, "maths")).toBe("reasoning");
    const url = started.servers.get("maths")?.address.url;
    await using elsewhere = await startIn(`
  far: { environment: "${url}", ${shown} }
  stranger: { environment: "${url}", ca: ca.pem }
  noop: { agent: noop }
  episodes: { episode: single_agent_turn }
`);
    expect(await described(elsewhere, "far")).toBe("reasoning");
    await expect(described(elsewhere, "stranger")).rejects.toThrow(/certificate/);
    const driver = http2Channel(elsewhere.servers.get("episodes")?.address ?? { url: "" });
    const events = episodeClient(driver).run({
      context: { episodeId: { rolloutId: "r" } },
      environment: "far",
      agents: [{ agentId: "agent", agent: "noop" }],
      source: {
        case: "task",
        value: {
          taskId: { id: "t" },
          environment: "reasoning",
          publicJson: '{"kind":"arithmetic","index":0}',
        },
      },
    });
    expect((await events.result()).outcome).toMatchObject({
      case: "verdict",
      value: { reward: { value: 0 } },
    });
    await driver.close();
  });

  it("refuses a certificate and a key that do not belong together, without a word of the key", async () => {
    const error: unknown = await startIn(
      '  far: { environment: "https://a.example:1", client_cert: { cert: client.pem, key: key.pem } }\n',
    ).catch((thrown: unknown) => thrown);
    expect(String(error)).toMatch(
      /c\.yaml: servers\.far\.client_cert: client\.pem and key\.pem are no certificate and its key; give PEM files that belong together$/,
    );
    await expect(
      startIn('  far: { environment: "https://a.example:1", client_cert: { cert: no.pem, key: key.pem } }\n'),
    ).rejects.toThrow(/servers\.far: no\.pem cannot be read; give a PEM file$/);
  });
});

it("ends all others where one cannot end, and says so", async () => {
  const started = await start(all, ["episodes", "maths", "oracle"]);
  const episodes = started.servers.get("episodes")?.running;
  if (episodes === undefined) throw new Error("no episode server");
  const { close } = episodes;
  Object.assign(episodes, { close: () => Promise.reject(new Error("it does not end")) });
  await expect(started.close({ drainTimeoutMs: 0 })).rejects.toThrow("it does not end");
  for (const name of ["maths", "oracle"]) {
    const { url = "" } = started.servers.get(name)?.address ?? {};
    await expect(fetch(url)).rejects.toThrow("fetch failed");
  }
  await close({ drainTimeoutMs: 0 });
});

it("listens for a run where the file says once somebody elsewhere knows its servers by that", async () => {
  await using metrics = await heldPort();
  const port = await freePort();
  const folder = temporaryFolder({
    "c.yaml": `servers:
  maths: { environment: reasoning, listen: "127.0.0.1:${port}" }
telemetry: { prometheus: "127.0.0.1:${metrics.port}" }
`,
  });
  const config = await loadConfig(join(folder, "c.yaml"));
  const loaded = await loadServers(config);
  const urlOf = ({ servers }: StartedServers) => servers.get("maths")?.address.url;
  // They may be served at the same time: somebody else tells their metrics.
  await using fixed = await startServers({ config, loaded, log, purpose: "run", fixedPorts: true });
  expect(urlOf(fixed)).toBe(`http://127.0.0.1:${port}`);
  await using free = await startServers({ config, loaded, log, purpose: "run" });
  expect(urlOf(free)).not.toBe(`http://127.0.0.1:${port}`);
});
