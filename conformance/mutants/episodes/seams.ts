import { clone, type DescMessage, type Message } from "@bufbuild/protobuf";
import type { Channel } from "../../../clients/index.js";
import {
  type EpisodeEvent,
  type EpisodeOutcome,
  EpisodeService,
  type RunRequest,
  type RunResponse,
  RunResponseSchema,
} from "../../../gen/index.js";
import { serviceRoute } from "../../../servers/runtime/grpc/index.js";
import type { HeldService } from "../../../servers/runtime/held-service.js";
import type { EpisodeParts } from "../../reference/episodes.js";

/** Puts a fault into an episode server. */
export type EpisodeBuild = (parts: EpisodeParts) => EpisodeParts;

type Served = (request: never, context: never) => unknown;
type Rpc = keyof typeof EpisodeService.method;

function around(rpc: Rpc, handle: (next: Served) => Served): EpisodeBuild {
  const wrapped = (service: HeldService): HeldService => ({
    live: () => service.live(),
    drain: () => service.drain(),
    routes: service.routes.map((route) => {
      if (route.service.typeName !== EpisodeService.typeName) return route;
      const own = route.implementation as unknown as Readonly<Record<string, Served>>;
      const next = own[rpc];
      if (next === undefined) return route;
      return serviceRoute(route.service, { ...own, [rpc]: handle(next) } as never);
    }),
  });
  return (parts) => ({ ...parts, around: (service) => wrapped(parts.around(service)) });
}

/** Changes each event of Run; undefined leaves it out. */
export function inEvents(
  change: (event: EpisodeEvent, request: RunRequest) => EpisodeEvent | undefined,
): EpisodeBuild {
  return around(
    "run",
    (next) =>
      async function* (request, context) {
        for await (const message of next(request, context) as AsyncIterable<RunResponse>) {
          const copy = clone(RunResponseSchema, message);
          const event = copy.event === undefined ? undefined : change(copy.event, request);
          if (event !== undefined) yield { ...copy, event };
        }
      } as Served,
  );
}

/** Changes the outcome that Run tells. */
export function inOutcome(change: (outcome: EpisodeOutcome, request: RunRequest) => void): EpisodeBuild {
  return inEvents((event, request) => {
    if (event.event.case === "outcome") change(event.event.value, request);
    return event;
  });
}

/** Changes what an rpc is asked before the server sees it. */
export function inRequests<T extends Message>(rpc: Rpc, change: (request: T) => void): EpisodeBuild {
  return around(rpc, (next) => (request, context) => {
    const copy = clone(EpisodeService.method[rpc].input as DescMessage, request as never);
    change(copy as never);
    return next(copy as never, context);
  });
}

/** Changes the answer of an rpc with a single one; what it throws is its business. */
export function inAnswers<T extends Message>(
  rpc: Rpc,
  change: (answer: T, request: unknown) => void,
): EpisodeBuild {
  return around(
    rpc,
    (next) =>
      (async (request: never, context: never) => {
        const answer = (await next(request, context)) as T;
        change(answer, request);
        return answer;
      }) as Served,
  );
}

/** A call that the server makes of a part. */
export interface Outgoing {
  /** `EnvironmentService.Seed`. */
  readonly rpc: string;
  readonly request: Message;
}

/** Changes what the server asks of the parts: undefined, as it is. */
export function inOutgoing(rpc: string, change: (request: never) => void): EpisodeBuild {
  return aroundOutgoing((call, next) => {
    if (call.rpc !== rpc) return next(call.request);
    change(call.request as never);
    return next(call.request);
  });
}

/** Stands around every call that the server makes of a part. `next` makes it, once for each time that it is called. */
export function aroundOutgoing(
  handle: (call: Outgoing, next: (request: Message) => unknown) => unknown,
): EpisodeBuild {
  const standing = (channel: Channel): Channel => {
    const nameOf = (method: { readonly name: string; readonly parent: { readonly name: string } }): string =>
      `${method.parent.name}.${method.name}`;
    return new Proxy(channel, {
      get(target, key) {
        const own = Reflect.get(target, key, target) as unknown;
        if (typeof own !== "function") return own;
        if (key !== "unary" && key !== "serverStream") return own.bind(target);
        return (method: never, request: Message, options: unknown) =>
          handle({ rpc: nameOf(method), request }, (changed) => own.call(target, method, changed, options));
      },
    });
  };
  return (parts) => ({ ...parts, dial: (dial) => (endpoint) => standing(parts.dial(dial)(endpoint)) });
}
