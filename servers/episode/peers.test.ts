import { Code } from "@connectrpc/connect";
import { expect, describe as group, it } from "vitest";
import {
  AgentSessionService,
  EnvironmentService,
  FailureKind,
  Feature,
  ModelDialect,
  ModelService,
  Placement,
  Retry,
} from "../../gen/index.js";
import { bareStatus, ScriptedPeer } from "../../test/scripted-peer.js";
import { temporaryFolder } from "../../test/temporary-folder.js";
import { hasOpenssl, makeCertificates } from "../../test/transport/certificates.js";
import { systemClock } from "../runtime/clock.js";
import { Channels } from "../runtime/dial.js";
import { route } from "../runtime/route.js";
import { createRuntime } from "../runtime/runtime.js";
import { serve } from "../runtime/serve.js";
import { startRelay } from "./fixtures/relay.js";
import {
  agentScript,
  answered,
  described,
  environmentScript,
  hangingTurn,
  lease,
  modelScript,
  seeded,
} from "./fixtures/scripted-cast.js";
import { ServedEpisodes } from "./fixtures/served-episodes.js";
import { createPeers } from "./peers.js";

const named = (rolloutId: string) => ({ context: { episodeId: { rolloutId } } });
const describes = ({ order }: ServedEpisodes): string[] => order.filter((call) => call.endsWith("describe"));

group("An endpoint that a peer tells is watched for another instance too (EPI-E6-011, EPI-RUN-019)", () => {
  const lost = { kind: FailureKind.SESSION_LOST, retry: Retry.NEW_ATTEMPT };

  it("of the environment", async () => {
    await using episodes = await ServedEpisodes.start();
    await using elsewhere = await ScriptedPeer.start(EnvironmentService, environmentScript(), {
      name: "elsewhere",
    });
    elsewhere.instanceId = "x-1";
    episodes.environment.script.seed = async (request) =>
      seeded(request, { endpoint: { url: elsewhere.url } });
    expect((await episodes.run(named("good"))).verdict).toBeDefined();

    episodes.agent.script.activate = async function* (_request, call) {
      await elsewhere.arrived("keepAlive");
      elsewhere.instanceId = "x-2";
      yield* answered();
      expect(call.signal.aborted).toBe(false);
    };
    const running = episodes.run(named("bad"));
    await episodes.agent.arrived("activate", 2);
    await episodes.pass(10_000);
    expect((await running).failure).toMatchObject(lost);
    // Whoever answers may close it.
    expect(elsewhere.count("close")).toBe(2);
  });

  it("of an agent, in the middle of its turn", async () => {
    await using episodes = await ServedEpisodes.start();
    await using elsewhere = await ScriptedPeer.start(AgentSessionService, agentScript(), {
      name: "elsewhere",
    });
    elsewhere.instanceId = "x-1";
    elsewhere.script.activate = (_request, call) => hangingTurn(call);
    episodes.agent.script.open = async () => ({ lease, endpoint: { url: elsewhere.url } });
    const running = episodes.run();
    await elsewhere.arrived("activate");
    await episodes.settle();
    elsewhere.instanceId = "x-2";
    await episodes.pass(10_000);
    expect((await running).failure).toMatchObject(lost);
  });

  it("of a gateway", async () => {
    await using episodes = await ServedEpisodes.start();
    await using elsewhere = await ScriptedPeer.start(ModelService, modelScript(), { name: "elsewhere" });
    elsewhere.instanceId = "x-1";
    episodes.model.script.openGateway = async () => ({
      accesses: [{ dialect: ModelDialect.TOUCHSTONE_V1, baseUrl: "http://127.0.0.1:1", apiKey: "key" }],
      lease,
      endpoint: { url: elsewhere.url },
    });
    episodes.agent.script.activate = (_request, call) => hangingTurn(call);
    const running = episodes.run();
    await episodes.agent.arrived("activate");
    await episodes.pass(10_000);
    await elsewhere.arrived("keepAlive");
    await episodes.settle();
    elsewhere.instanceId = "x-2";
    await episodes.pass(10_000);
    expect((await running).failure).toMatchObject(lost);
  });
});

group("What a peer is, it is asked once for many episodes", () => {
  it("an episode in steady state asks nobody; after a while all are asked again", async () => {
    await using episodes = await ServedEpisodes.start();
    await episodes.run(named("a"));
    expect(describes(episodes)).toHaveLength(3);
    await Promise.all(["b", "c", "d"].map((name) => episodes.run(named(name))));
    expect(describes(episodes)).toHaveLength(3);
    await episodes.pass(30_000);
    await episodes.run(named("e"));
    expect(describes(episodes)).toHaveLength(6);
  });

  it("first episodes that come at once wait for the same answer", async () => {
    await using episodes = await ServedEpisodes.start();
    await Promise.all(["a", "b", "c", "d"].map((name) => episodes.run(named(name))));
    expect(describes(episodes).toSorted()).toEqual([
      "agent.describe",
      "environment.describe",
      "model.describe",
    ]);
  });

  it("another instance is asked anew, and stands in the outcome", async () => {
    await using episodes = await ServedEpisodes.start();
    await episodes.run(named("a"));
    episodes.agent.instanceId = "a-2";
    const { outcome } = await episodes.run(named("b"));
    // Its Open told it first: what took part is what answered that.
    expect(outcome?.participants.find(({ binding }) => binding === "loop")?.instanceId).toBe("a-2");
    expect(describes(episodes)).toHaveLength(3);
    await episodes.run(named("c"));
    expect(describes(episodes)).toHaveLength(4);
  });

  it("a server whose connection was lost is asked anew", async () => {
    let url = "";
    await using relay = await startRelay(() => url);
    await using episodes = await ServedEpisodes.start({ urls: { environment: relay.url } });
    url = episodes.environment.url;
    await episodes.run(named("a"));
    relay.cut();
    // The driver sees the end of its connection when it next looks at its sockets.
    await episodes.settle();
    await new Promise(setImmediate);
    await episodes.run(named("b"));
    expect(episodes.environment.count("describe")).toBe(2);
    expect(episodes.agent.count("describe")).toBe(1);
  });

  it("nobody is refused for what a server was a while ago", async () => {
    await using episodes = await ServedEpisodes.start();
    await episodes.run(named("a"));
    // The agent now needs a box; the environment, which made none, now makes some.
    episodes.agent.script.describe = async () => described({ sandboxRequirements: {} });
    const { describe } = environmentScript();
    episodes.environment.script.describe = async (request, call) => ({
      ...(await describe?.(request, call)),
      placements: [Placement.SHARED_SANDBOX],
      sandboxProviders: ["boxes"],
    });
    const ran = await episodes.run({ ...named("b"), sandbox: "boxes" });
    expect(ran.verdict).toBeDefined();
    expect(episodes.environment.requests("seed")[1]?.agentRequirements).toHaveLength(1);
  });

  it("a pair that cannot work is refused all the same, and asked again by the next", async () => {
    await using episodes = await ServedEpisodes.start();
    episodes.model.script.describe = async () => ({ service: { features: [Feature.TOKEN_IDS] } });
    expect((await episodes.run()).error?.reason).toBe("UNSATISFIED_REQUIREMENT");
    expect(episodes.environment.count("seed")).toBe(0);
    const { describe } = modelScript();
    if (describe !== undefined) episodes.model.script.describe = describe;
    expect((await episodes.run()).verdict).toBeDefined();
  });

  it("one that could not be asked is asked by the next episode", async () => {
    await using episodes = await ServedEpisodes.start();
    const { describe } = environmentScript();
    episodes.environment.script.describe = async () => {
      throw bareStatus(Code.PermissionDenied);
    };
    expect((await episodes.run(named("a"))).failure?.retry).toBe(Retry.NEVER);
    if (describe !== undefined) episodes.environment.script.describe = describe;
    expect((await episodes.run(named("b"))).verdict).toBeDefined();
  });

  it("one episode that is stopped while it waits takes the answer from no other", async () => {
    await using episodes = await ServedEpisodes.start();
    const { describe } = environmentScript();
    let answer: () => void = () => {};
    const may = new Promise<void>((resolve) => {
      answer = resolve;
    });
    episodes.environment.script.describe = async (request, call) => {
      await may;
      return (await describe?.(request, call)) ?? {};
    };
    const stopped = episodes.run();
    const other = episodes.run(named("r2"));
    await episodes.environment.arrived("describe");
    await episodes.stop();
    expect((await stopped).failure?.kind).toBe(FailureKind.CANCELLED);
    answer();
    expect((await other).verdict).toBeDefined();
    expect(episodes.environment.count("describe")).toBe(1);
  });
});

it.skipIf(!hasOpenssl())("an endpoint that a peer told is shown the peer's client certificate", async () => {
  const { authority, server, client } = makeCertificates();
  const files = temporaryFolder({ "ca.pem": authority, "cert.pem": server.cert, "key.pem": server.key });
  const runtime = createRuntime({});
  const routes = [route(runtime, EnvironmentService, { describe: async () => ({ environment: "told" }) })];
  await using told = await serve({
    runtime,
    services: [{ routes, live: () => 0, drain: async () => {} }],
    tls: { cert: `${files}/cert.pem`, key: `${files}/key.pem`, clientCa: `${files}/ca.pem` },
  });
  await using channels = new Channels();
  const { dial } = channels;
  const environment = (address: object) => {
    const environments = { world: { url: "http://127.0.0.1:1", ...address } };
    const bindings = { environments, agents: {}, models: {}, sandboxes: [] };
    const peer = createPeers(bindings, { dial, clock: systemClock }).environments.get("world");
    return peer?.client({ repeat: false }, { url: told.url, caPem: authority });
  };
  const clientCert = { certPem: client.cert, keyPem: client.key };
  expect(await environment({ clientCert })?.describe({})).toMatchObject({ environment: "told" });
  await expect(environment({})?.describe({})).rejects.toThrow(/certificate/);
});
