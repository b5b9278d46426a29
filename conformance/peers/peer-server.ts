import { createServer, type ServerHttp2Session } from "node:http2";
import type { AddressInfo } from "node:net";
import type { DescService, MessageShape } from "@bufbuild/protobuf";
import type { ConnectRouter, HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";

/** A call that a subject made at a peer that the runner plays. */
export interface PeerCall {
  /** Which peer it was made at. */
  readonly peer: string;
  /** Name of the rpc. */
  readonly rpc: string;
  readonly request: unknown;
  readonly headers: Headers;
}

/** A server that the runner plays towards a subject. It answers what its script says and remembers every call. */
export interface PeerServer extends AsyncDisposable {
  readonly url: string;
  /** Every call, oldest first. */
  readonly calls: readonly PeerCall[];
  /** The requests of one rpc. */
  requests<S extends DescService, M extends keyof S["method"]>(
    service: S,
    rpc: M,
  ): MessageShape<S["method"][M]["input"]>[];
}

/** Serves the scripts on a port of its own. Rpcs that a script lacks are UNIMPLEMENTED. */
export async function servePeer(
  name: string,
  scripts: readonly { readonly service: DescService; readonly script: object }[],
): Promise<PeerServer> {
  const calls: PeerCall[] = [];
  const routes = (router: ConnectRouter): void => {
    for (const { service, script } of scripts) {
      router.service(service, remembering(service, script, { name, calls }));
    }
  };
  const sessions = new Set<ServerHttp2Session>();
  const server = createServer(connectNodeAdapter({ routes }));
  server.on("session", (session) => {
    sessions.add(session);
    session.on("close", () => sessions.delete(session));
    session.on("error", () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    requests: (service, rpc) =>
      calls
        .filter((call) => call.rpc === service.method[rpc as string]?.name)
        .map(({ request }) => request as never),
    async [Symbol.asyncDispose]() {
      for (const session of sessions) session.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

type Method = (request: unknown, context: HandlerContext) => unknown;

function remembering(
  service: DescService,
  script: object,
  { name, calls }: { name: string; calls: PeerCall[] },
): Partial<ServiceImpl<DescService>> {
  const wrapped = service.methods.flatMap((method) => {
    const answer = (script as Record<string, Method | undefined>)[method.localName];
    if (answer === undefined) return [];
    const remember: Method = (request, context) => {
      calls.push({ peer: name, rpc: method.name, request, headers: context.requestHeader });
      return answer(request, context);
    };
    return [[method.localName, remember]];
  });
  return Object.fromEntries(wrapped) as Partial<ServiceImpl<DescService>>;
}
