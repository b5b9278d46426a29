import { AsyncLocalStorage } from "node:async_hooks";
import {
  clone,
  create,
  type DescMethod,
  type DescService,
  type Message,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import { ConnectError, type HandlerContext, type ServiceImpl } from "@connectrpc/connect";
import {
  EnvironmentService,
  type ForkRequest,
  type SeedRequest,
  type SessionDescriptor,
  type StepResponse,
  type Verdict,
} from "../../gen/index.js";
import { type ServiceRoute, serviceRoute } from "../../servers/runtime/grpc/index.js";
import type { HeldService } from "../../servers/runtime/held-service.js";
import type { Build } from "./mutant.js";

/** Local names of the rpcs of an environment. */
export type Rpc = keyof typeof EnvironmentService.method;
/** Its request. */
export type RequestOf<R extends Rpc> = MessageShape<(typeof EnvironmentService.method)[R]["input"]>;
/** Its answer, or one message of its stream. */
export type AnswerOf<R extends Rpc> = MessageShape<(typeof EnvironmentService.method)[R]["output"]>;

/** A call, whatever its rpc is. `request` is a stream where the rpc takes one. */
export interface Call {
  readonly method: DescMethod;
  readonly request: Message | AsyncIterable<Message>;
  readonly context: HandlerContext;
}

/** How a call goes on: an answer, or a stream of them. */
export type Next = (call: Call) => unknown;

type Served = (request: unknown, context: HandlerContext) => unknown;

/** Asks the server itself for something, with the metadata of a call. */
export type Ask = <R extends Rpc>(
  rpc: R,
  request: MessageInitShape<(typeof EnvironmentService.method)[R]["input"]>,
  context: HandlerContext,
) => Promise<AnswerOf<R>>;

type Handle = (call: Call, next: Next, ask: Ask) => unknown;

/** Stands around every call. */
export function aroundCalls(handle: Handle): Build {
  return (parts) => ({ ...parts, around: (service) => handled(parts.around(service), handle) });
}

function handled(service: HeldService, handle: Handle): HeldService {
  const ask: Ask = async (rpc, request, context) => {
    const route = service.routes.find((one) => one.service.typeName === EnvironmentService.typeName);
    const served = ((route?.implementation ?? {}) as Record<string, Served | undefined>)[rpc];
    const { input } = EnvironmentService.method[rpc];
    return (await served?.(create(input, request as never), context)) as AnswerOf<typeof rpc>;
  };
  const routes = service.routes.map((route): ServiceRoute => {
    const own = route.implementation as Record<string, Served | undefined>;
    const wrapped: Record<string, Served> = {};
    for (const method of route.service.methods) {
      const served = own[method.localName];
      if (served === undefined) continue;
      wrapped[method.localName] = (request, context) =>
        handle(
          { method, request: request as Call["request"], context },
          (call) => served(call.request, call.context),
          ask,
        );
    }
    return serviceRoute(route.service, wrapped as unknown as Partial<ServiceImpl<DescService>>);
  });
  return { routes, live: () => service.live(), drain: () => service.drain() };
}

/** Whether an answer is a stream. */
export function isStream(value: unknown): value is AsyncIterable<Message> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

/** Stands around the calls of one rpc with a single answer. */
export function around<R extends Rpc>(
  rpc: R,
  handle: (
    call: Call & { readonly request: RequestOf<R> },
    next: (request?: RequestOf<R>) => Promise<AnswerOf<R>>,
    ask: Ask,
  ) => Promise<AnswerOf<R>>,
): Build {
  return aroundCalls((call, next, ask) =>
    is(call, rpc)
      ? handle(
          call as Call & { readonly request: RequestOf<R> },
          async (request = call.request as RequestOf<R>) =>
            (await next({ ...call, request: request as Message })) as AnswerOf<R>,
          ask,
        )
      : next(call),
  );
}

/** Stands around the calls of one rpc that answers with a stream. */
export function aroundStream<R extends Rpc>(
  rpc: R,
  handle: (
    call: Call & { readonly request: RequestOf<R> },
    next: (request?: RequestOf<R>) => AsyncIterable<AnswerOf<R>>,
  ) => AsyncIterable<AnswerOf<R>>,
): Build {
  return aroundCalls((call, next) =>
    is(call, rpc)
      ? handle(
          call as Call & { readonly request: RequestOf<R> },
          (request = call.request as RequestOf<R>) =>
            next({ ...call, request: request as Message }) as AsyncIterable<AnswerOf<R>>,
        )
      : next(call),
  );
}

function is({ method }: Call, rpc: Rpc): boolean {
  return method.localName === rpc && method.parent.typeName === EnvironmentService.typeName;
}

/** Changes a copy of every answer of an rpc, or of every message of its stream; replays alike. */
export function inAnswers<R extends Rpc>(
  rpc: R,
  change: (answer: AnswerOf<R>, request: RequestOf<R>) => unknown,
): Build {
  const { output } = EnvironmentService.method[rpc];
  const changed = (answer: Message, request: unknown): Message => {
    const copy = clone(output, answer as never) as Message;
    change(copy as AnswerOf<R>, request as RequestOf<R>);
    return copy;
  };
  return aroundCalls((call, next) => (is(call, rpc) ? eachAnswer(call, next, changed) : next(call)));
}

function eachAnswer(
  call: Call,
  next: Next,
  changed: (answer: Message, request: unknown) => Message,
): unknown {
  const answer = next(call);
  if (isStream(answer)) return eachOf(answer, (message) => changed(message, call.request));
  return Promise.resolve(answer).then((message) => changed(message as Message, call.request));
}

/** Every message of a stream, changed. */
export async function* eachOf<M>(stream: AsyncIterable<M>, change: (message: M) => M): AsyncGenerator<M> {
  for await (const message of stream) yield change(message);
}

/** Changes every request of an rpc before it is served; of a stream, each of its messages. */
export function inRequests<R extends Rpc>(rpc: R, change: (request: RequestOf<R>) => unknown): Build {
  const changed = (request: Message): Message => {
    change(request as RequestOf<R>);
    return request;
  };
  return aroundCalls((call, next) => {
    if (!is(call, rpc)) return next(call);
    const { request } = call;
    return next({ ...call, request: isStream(request) ? eachOf(request, changed) : changed(request) });
  });
}

/** Changes every error; undefined: it stays. */
export function inErrors(
  change: (error: ConnectError, call: Call, ask: Ask) => ConnectError | undefined,
): Build {
  return aroundCalls((call, next, ask) => {
    const rethrow = (error: unknown): never => {
      throw (error instanceof ConnectError ? change(error, call, ask) : undefined) ?? error;
    };
    try {
      const answer = next(call);
      return isStream(answer) ? caught(answer, rethrow) : Promise.resolve(answer).catch(rethrow);
    } catch (error) {
      return rethrow(error);
    }
  });
}

/** A stream that does something when it ends, however it does. */
export async function* thenDo<M>(stream: AsyncIterable<M>, act: () => void): AsyncGenerator<M> {
  try {
    yield* stream;
  } finally {
    act();
  }
}

/** A stream whose errors are told otherwise. */
export async function* caught<M>(
  stream: AsyncIterable<M>,
  rethrow: (error: unknown) => never,
): AsyncGenerator<M> {
  try {
    yield* stream;
  } catch (error) {
    rethrow(error);
  }
}

/** Does something when a call of an rpc with a single answer was refused, and answers what it gives. */
export function instead<R extends Rpc>(
  rpc: R,
  when: (error: ConnectError, request: RequestOf<R>) => boolean,
  answer: (
    request: RequestOf<R>,
    more: { readonly ask: Ask; readonly context: HandlerContext },
  ) => AnswerOf<R> | Promise<AnswerOf<R>>,
): Build {
  return around(rpc, async ({ request, context }, next, ask) => {
    try {
      return await next();
    } catch (error) {
      if (!(error instanceof ConnectError) || !when(error, request)) throw error;
      return await answer(request, { ask, context });
    }
  });
}

const callsUnderWay = new AsyncLocalStorage<Call>();

/** The call that is being served, wherever it is asked for; set by `tellingCalls`. */
export function currentCall(): Call | undefined {
  return callsUnderWay.getStore();
}

/** Lets other parts ask which call they work for. */
export const tellingCalls: Build = aroundCalls((call, next) => {
  const answer = callsUnderWay.run(call, () => next(call));
  return isStream(answer) ? pulledFor(call, answer) : answer;
});

/** A stream is made as it is read. */
async function* pulledFor(call: Call, stream: AsyncIterable<Message>): AsyncGenerator<Message> {
  const iterator = stream[Symbol.asyncIterator]();
  try {
    for (;;) {
      const { done, value } = await callsUnderWay.run(call, () => iterator.next());
      if (done === true) return;
      yield value;
    }
  } finally {
    await iterator.return?.();
  }
}

/** What names the operation of a request: rpc, session, and its number or id; undefined: it is none. */
export function operationName({ method, request }: Call): string | undefined {
  if (isStream(request)) return undefined;
  const fields = request as unknown as Record<string, unknown>;
  const target = (fields["target"] as { value?: Record<string, unknown> } | undefined)?.value;
  const session = fields["sessionId"] ?? target?.["sessionId"] ?? target?.["verificationId"];
  if (session === undefined) return undefined;
  const name = (fields["name"] as { value?: unknown } | undefined)?.value;
  return [
    method.localName,
    session,
    name ?? target?.["verificationIndex"] ?? fields["stageIndex"] ?? "",
  ].join("/");
}

/** The session that a request is about; empty: none. */
export function sessionOf(request: Call["request"]): string {
  if (isStream(request)) return "";
  const fields = request as unknown as { sessionId?: string; target?: { value?: { sessionId?: string } } };
  return fields.sessionId ?? fields.target?.value?.sessionId ?? "";
}

/** Changes a copy of every step's answer, whether it was asked for alone, in a stream, or is followed. */
export function inSteps(change: (step: StepResponse) => unknown): Build {
  return (parts) =>
    [
      inAnswers("step", change),
      inAnswers("stepStream", ({ answers }) => {
        for (const { answer } of answers) if (answer.case === "step") change(answer.value);
      }),
      inAnswers("watchSteps", ({ event }) => {
        if (event.case === "step" && event.value.response !== undefined) change(event.value.response);
      }),
    ].reduce((made, build) => build(made), parts);
}

/** Changes a copy of every verdict. */
export function inVerdicts(change: (verdict: Verdict) => unknown): Build {
  return inAnswers("verify", ({ event }) => {
    if (event.case === "result" && event.value.outcome.case === "verdict") change(event.value.outcome.value);
  });
}

/** Changes a copy of every descriptor, of a Seed and of a Fork. */
export function inDescriptors(
  change: (descriptor: SessionDescriptor, request: SeedRequest | ForkRequest) => unknown,
): Build {
  const changed = (
    { session }: { session?: SessionDescriptor | undefined },
    request: SeedRequest | ForkRequest,
  ): void => {
    if (session !== undefined) change(session, request);
  };
  return (parts) => inAnswers("fork", changed)(inAnswers("seed", changed)(parts));
}
