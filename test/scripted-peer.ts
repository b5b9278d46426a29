import type { DescMethod, DescService, MessageShape } from "@bufbuild/protobuf";
import { Code, ConnectError, type HandlerContext, type ServiceImpl } from "@connectrpc/connect";
import { instanceHeader } from "../clients/metadata.js";
import { createMessageCodec } from "../servers/runtime/grpc/message-codec.js";
import { route } from "../servers/runtime/route.js";
import { createRuntime } from "../servers/runtime/runtime.js";
import { type RunningServer, serve } from "../servers/runtime/serve.js";

/** A call that a scripted peer has had. */
export interface SeenCall {
  /** Name of the peer. */
  readonly peer: string;
  /** Local name of the rpc: `openGateway`. */
  readonly rpc: string;
  readonly request: unknown;
  readonly headers: Headers;
}

/** What a peer does, rpc by rpc; a test changes it as it goes. What is not there is UNIMPLEMENTED. */
export type Script<S extends DescService> = { -readonly [K in keyof ServiceImpl<S>]?: ServiceImpl<S>[K] };

type Handler = (request: unknown, context: HandlerContext) => unknown;

/** A server on a real socket whose every answer is the test's, faults included. */
export class ScriptedPeer<S extends DescService> implements AsyncDisposable {
  /** Instance that answers; absent: the server's own. */
  instanceId: string | undefined;
  readonly #arrivals: (() => void)[] = [];

  private constructor(
    readonly name: string,
    readonly script: Script<S>,
    readonly seen: SeenCall[],
    /** Full names of messages that it answers as bytes that are none. */
    readonly garbled: Set<string>,
    private readonly server: { running: RunningServer | undefined },
  ) {}

  /** @param seen - Where its calls are written, in order; several peers may share it. */
  static async start<S extends DescService>(
    service: S,
    script: Script<S>,
    { name, seen = [] }: { readonly name: string; readonly seen?: SeenCall[] },
  ): Promise<ScriptedPeer<S>> {
    const garbled = new Set<string>();
    const plain = createMessageCodec();
    const runtime = createRuntime({
      codec: {
        ...plain,
        encode: (schema, message, format) =>
          garbled.has(schema.typeName) ? Buffer.from([0xff, 0xff]) : plain.encode(schema, message, format),
      },
    });
    const server: { running: RunningServer | undefined } = { running: undefined };
    const peer = new ScriptedPeer(name, script, seen, garbled, server);
    const entries = service.methods.map((method) => [method.localName, peer.#handler(method)]);
    const routed = route(runtime, service, Object.fromEntries(entries) as Partial<ServiceImpl<S>>);
    server.running = await serve({
      runtime,
      services: [{ routes: [routed], live: () => 0, drain: async () => {} }],
    });
    return peer;
  }

  get url(): string {
    return this.server.running?.url ?? "";
  }

  /** Requests of one rpc so far. */
  requests<K extends keyof S["method"] & string>(rpc: K): MessageShape<S["method"][K]["input"]>[] {
    return this.seen
      .filter((call) => call.peer === this.name && call.rpc === rpc)
      .map(({ request }) => request as MessageShape<S["method"][K]["input"]>);
  }

  /** Number of calls of one rpc so far. */
  count(rpc: keyof S["method"] & string): number {
    return this.requests(rpc).length;
  }

  /** Resolves when an rpc was called `count` times in all. */
  async arrived(rpc: keyof S["method"] & string, count = 1): Promise<void> {
    while (this.count(rpc) < count) await new Promise<void>((resolve) => this.#arrivals.push(resolve));
  }

  /** Ends the server as a crash does: nothing answers any more. */
  async crash(): Promise<void> {
    await this.server.running?.close({ drainTimeoutMs: 0 });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.crash();
  }

  #handler(method: DescMethod): Handler {
    const take = (request: unknown, context: HandlerContext): unknown => {
      this.seen.push({ peer: this.name, rpc: method.localName, request, headers: context.requestHeader });
      if (this.instanceId !== undefined) context.responseHeader.set(instanceHeader, this.instanceId);
      for (const tell of this.#arrivals.splice(0)) tell();
      const own = (this.script as Record<string, Handler | undefined>)[method.localName];
      if (own === undefined) throw new ConnectError("not scripted", Code.Unimplemented);
      return own(request, context);
    };
    if (method.methodKind === "unary" || method.methodKind === "client_streaming") {
      return async (request, context) => await take(request, context);
    }
    return async function* (request, context) {
      yield* take(request, context) as AsyncIterable<unknown>;
    };
  }
}

/** A status without a word of the service, as proxies and libraries give it. */
export function bareStatus(code: Code, message = "upstream connect error"): ConnectError {
  return new ConnectError(message, code);
}

/** Never answers: resolves only when the caller has left. */
export async function hang({ signal }: Pick<HandlerContext, "signal">): Promise<never> {
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
  throw new ConnectError("the caller left", Code.Canceled);
}
