import { createServer, type ServerHttp2Session } from "node:http2";
import type { AddressInfo } from "node:net";
import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { Code, ConnectError, type ConnectRouter, type HandlerContext } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { AgentSessionService, EnvironmentService, ModelService } from "../../gen/index.js";
import type { PeerCall } from "./peer-server.js";
import { ordinaryScripts, type Scripts } from "./scene-scripts.js";

/** The parts that the runner plays towards an episode server. */
export const parts = ["environment", "agent", "model"] as const;

/** One of them. */
export type Part = (typeof parts)[number];

const services = {
  environment: EnvironmentService,
  agent: AgentSessionService,
  model: ModelService,
} as const satisfies Record<Part, DescService>;

/** What the parts do in one episode, and what they were asked. */
export interface Scene {
  readonly rolloutId: string;
  /** Rpc by rpc; changed as the check goes on. What is not there is UNIMPLEMENTED. */
  readonly scripts: Scripts;
  /** Every call of the episode at any part, oldest first. */
  readonly calls: readonly PeerCall[];
  /** Resolves when an rpc has been asked for so often in all. */
  asked(part: Part, rpc: string, times?: number): Promise<void>;
}

/** The played parts, each on a port of its own; every episode has a scene of its own. */
export interface Cast extends AsyncDisposable {
  readonly urls: Readonly<Record<Part, string>>;
  /** What the parts say of themselves, to whoever asks outside of any episode. */
  readonly described: Scripts;
  /** Begins the scene of an episode: calls that name its rollout, or what was made for it, go there. */
  scene(rolloutId: string): Scene;
  /** Cuts every connection to a part, as its death would; it listens on. */
  cut(part: Part): void;
}

type Handler = (request: never, context: HandlerContext) => unknown;

class PlayedScene implements Scene {
  readonly scripts = ordinaryScripts();
  readonly calls: PeerCall[] = [];
  readonly #waiting = new Set<() => void>();

  constructor(readonly rolloutId: string) {}

  add(call: PeerCall): void {
    this.calls.push(call);
    for (const look of this.#waiting) look();
  }

  async asked(part: Part, rpc: string, times = 1): Promise<void> {
    await new Promise<void>((resolve) => {
      const look = (): void => {
        if (this.calls.filter((call) => call.peer === part && call.rpc === rpc).length < times) return;
        this.#waiting.delete(look);
        resolve();
      };
      this.#waiting.add(look);
      look();
    });
  }
}

/** Plays the parts. `listen`: where, as host and port; absent: any free port of loopback. */
export async function playCast(listen: Partial<Record<Part, string>> = {}): Promise<Cast> {
  const scenes = new Map<string, PlayedScene>();
  /** Scenes by the ids of what was made for them. */
  const byId = new Map<string, PlayedScene>();
  const described = ordinaryScripts();

  const sceneOf = (request: object): PlayedScene | undefined => {
    const rollout = rolloutIn(request);
    const ids = idsIn(request);
    const scene = rollout === undefined ? ids.map((id) => byId.get(id)).find(Boolean) : scenes.get(rollout);
    if (scene !== undefined) for (const id of ids) byId.set(id, scene);
    return scene;
  };
  const handler =
    (part: Part, method: DescMethod): Handler =>
    (request: object, context) => {
      const scene = sceneOf(request);
      scene?.add({ peer: part, rpc: method.name, request, headers: context.requestHeader });
      const scripts = (scene?.scripts ?? described)[part] as Readonly<Record<string, Handler | undefined>>;
      const answer = scripts[method.localName];
      if (answer === undefined)
        throw new ConnectError(`${method.name} is not in the script`, Code.Unimplemented);
      return answer(request as never, context);
    };

  const opened = await Promise.all(
    parts.map(async (part) => {
      const service = services[part];
      const routes = (router: ConnectRouter): void => {
        const entries = service.methods
          .filter(({ methodKind }) => methodKind === "unary" || methodKind === "server_streaming")
          .map((method) => [method.localName, handler(part, method)]);
        router.service(service as DescService, Object.fromEntries(entries));
      };
      return [part, await listenAt(routes, listen[part])] as const;
    }),
  );
  const servers = Object.fromEntries(opened) as Record<Part, Listening>;
  return {
    urls: { environment: servers.environment.url, agent: servers.agent.url, model: servers.model.url },
    described,
    scene(rolloutId) {
      const scene = new PlayedScene(rolloutId);
      scenes.set(rolloutId, scene);
      return scene;
    },
    cut: (part) => servers[part].cut(),
    async [Symbol.asyncDispose]() {
      await Promise.all(parts.map((part) => servers[part].close()));
    },
  };
}

function rolloutIn(request: object): string | undefined {
  const { context, episodeId } = request as {
    readonly context?: { readonly episodeId?: { readonly rolloutId: string } };
    readonly episodeId?: { readonly rolloutId: string };
  };
  return context?.episodeId?.rolloutId ?? episodeId?.rolloutId;
}

function idsIn(request: object): string[] {
  const { sessionId, gatewayId, target } = request as {
    readonly sessionId?: string;
    readonly gatewayId?: string;
    readonly target?: { readonly value?: { readonly sessionId?: string } };
  };
  const ids = [sessionId, gatewayId, target?.value?.sessionId];
  return ids.filter((id): id is string => id !== undefined && id !== "");
}

interface Listening {
  readonly url: string;
  cut(): void;
  close(): Promise<void>;
}

async function listenAt(routes: (router: ConnectRouter) => void, place = "127.0.0.1:0"): Promise<Listening> {
  const connected = new Set<ServerHttp2Session>();
  const server = createServer(connectNodeAdapter({ routes }));
  server.on("session", (session) => {
    connected.add(session);
    session.on("close", () => connected.delete(session));
    session.on("error", () => undefined);
  });
  const [, host = "127.0.0.1", port = "0"] = /^(.*):(\d+)$/.exec(place) ?? [];
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(Number(port), host, resolve);
  });
  const cut = (): void => {
    for (const session of connected) session.destroy();
  };
  return {
    url: `http://${host}:${(server.address() as AddressInfo).port}`,
    cut,
    async close() {
      cut();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
