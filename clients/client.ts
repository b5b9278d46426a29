import {
  create,
  type DescMessage,
  type DescMethod,
  type DescMethodBiDiStreaming,
  type DescMethodClientStreaming,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type DescService,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import { CallError, InstanceChangedError } from "./call-error.js";
import { type CallInfo, type CallOptions, type Channel, instanceOf, type ResponseStream } from "./channel.js";
import { ClientStream } from "./client-stream.js";
import { type Clock, systemClock } from "./clock.js";
import {
  type DEFAULT_REPEAT_POLICY,
  type RepeatChange,
  type RepeatPolicy,
  type RepeatScope,
  repeat,
  repeatPolicy,
} from "./repeat.js";
import { rpcKind } from "./rpc-kind.js";

/** What a client says of all its calls. */
export interface ClientOptions {
  /** Metadata of every call: `touchstone-key` (ALL-SCOPE-004), `authorization`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Deadline of calls with one answer, repeats included, in milliseconds; where the call says none. */
  readonly timeoutMs?: number;
  /** What is changed in {@link DEFAULT_REPEAT_POLICY}; `false`: no call is repeated. */
  readonly repeat?: RepeatChange;
  /** Told which instance answered, for every answer that says it (R14). */
  readonly onInstance?: (instanceId: string) => void;
  /** The instance that must answer; another one's answer is an {@link InstanceChangedError} (EPI-E6-011). */
  readonly expectInstance?: string;
  /** Silence of a followed stream, in milliseconds, after which its connection is taken as lost. 40 s. */
  readonly idleMs?: number;
  /** Time, for tests. */
  readonly clock?: Clock;
  /** Numbers from 0 to below 1 for the jitter of waits, for tests. */
  readonly random?: () => number;
}

/** What a caller of a client says of one call beside its request. */
export interface ClientCallOptions extends CallOptions {
  /** What is changed in the client's policy; `false`: the call is not repeated. */
  readonly repeat?: RepeatChange;
  /** Told what came with the answer of a call that has one and ended well. */
  readonly onInfo?: (info: CallInfo) => void;
}

/**
 * A client of a service: a method for each rpc, by local name. Calls fail with {@link CallError}.
 *
 * Streams of answers begin at once, and are repeated until their first answer only; use the clients of the services
 * ({@link environmentClient} and its like) for streams that are to be followed to their end. Streams of requests are
 * never repeated.
 */
export type Client<S extends DescService> = {
  [M in keyof S["method"]]: ClientMethod<S["method"][M]>;
};

type ClientMethod<M> =
  M extends DescMethodUnary<infer I, infer O>
    ? (request: MessageInitShape<I>, options?: ClientCallOptions) => Promise<MessageShape<O>>
    : M extends DescMethodServerStreaming<infer I, infer O>
      ? (request: MessageInitShape<I>, options?: ClientCallOptions) => ResponseStream<MessageShape<O>>
      : M extends DescMethodClientStreaming<infer I, infer O>
        ? (
            requests: AsyncIterable<MessageInitShape<I>>,
            options?: ClientCallOptions,
          ) => Promise<MessageShape<O>>
        : M extends DescMethodBiDiStreaming<infer I, infer O>
          ? (
              requests: AsyncIterable<MessageInitShape<I>>,
              options?: ClientCallOptions,
            ) => ResponseStream<MessageShape<O>>
          : never;

/**
 * Makes a client of a service over a channel: repeats what is safe to repeat, bears the headers of an episode, and
 * watches which instance answers.
 */
export function createClient<S extends DescService>(
  service: S,
  channel: Channel,
  options: ClientOptions = {},
): Client<S> {
  const caller = new Caller(channel, options);
  const methods = service.methods.map((method) => [method.localName, caller.method(method)]);
  return Object.fromEntries(methods) as Client<S>;
}

/** Makes the methods of a client. */
class Caller {
  readonly #channel: Channel;
  readonly #options: ClientOptions;
  readonly #policy: RepeatPolicy;
  readonly #clock: Clock;
  readonly #random: () => number;

  constructor(channel: Channel, options: ClientOptions) {
    this.#channel = channel;
    this.#options = options;
    this.#policy = repeatPolicy(options.repeat);
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
  }

  method(method: DescMethod): unknown {
    switch (method.methodKind) {
      case "unary":
        return this.#unary(method as DescMethodUnary);
      case "server_streaming":
        return this.#serverStream(method as DescMethodServerStreaming);
      case "client_streaming":
        return this.#clientStream(method as DescMethodClientStreaming);
      case "bidi_streaming":
        return this.#duplex(method as DescMethodBiDiStreaming);
    }
  }

  #unary<I extends DescMessage, O extends DescMessage>(method: DescMethodUnary<I, O>) {
    const kind = rpcKind(method);
    return async (init: MessageInitShape<I>, options: ClientCallOptions = {}): Promise<MessageShape<O>> => {
      const request = create(method.input, init);
      const scope = this.#scope(options, options.timeoutMs ?? this.#options.timeoutMs);
      const answer = await repeat(kind, scope, async () => {
        try {
          const one = await this.#channel.unary(method, request, this.#callOptions(options, scope));
          this.#look(method, one.info);
          return one;
        } catch (error) {
          throw this.#judge(method, error);
        }
      });
      options.onInfo?.(answer.info);
      return answer.message;
    };
  }

  #clientStream<I extends DescMessage, O extends DescMessage>(method: DescMethodClientStreaming<I, O>) {
    return (
      requests: AsyncIterable<MessageInitShape<I>>,
      options: ClientCallOptions = {},
    ): Promise<MessageShape<O>> =>
      this.#watched(method, async () => {
        const scope = this.#scope(options, options.timeoutMs ?? this.#options.timeoutMs);
        const messages = created(method.input, requests);
        const { message, info } = await this.#channel.clientStream(
          method,
          messages,
          this.#callOptions(options, scope),
        );
        this.#look(method, info);
        options.onInfo?.(info);
        return message;
      });
  }

  #serverStream<I extends DescMessage, O extends DescMessage>(method: DescMethodServerStreaming<I, O>) {
    const kind = rpcKind(method);
    return (init: MessageInitShape<I>, options: ClientCallOptions = {}): ResponseStream<MessageShape<O>> => {
      const request = create(method.input, init);
      const left = new AbortController();
      const signal =
        options.signal === undefined ? left.signal : AbortSignal.any([options.signal, left.signal]);
      const scope = { ...this.#scope(options, options.timeoutMs), signal };
      return new ClientStream<MessageShape<O>>({
        left,
        open: () =>
          this.#channel.serverStream(method, request, this.#callOptions({ ...options, signal }, scope)),
        first: (attempt) => repeat(kind, scope, () => this.#watched(method, attempt)),
        look: (info) => this.#look(method, info),
        judge: (error) => this.#judge(method, error),
      });
    };
  }

  #duplex<I extends DescMessage, O extends DescMessage>(method: DescMethodBiDiStreaming<I, O>) {
    return (
      requests: AsyncIterable<MessageInitShape<I>>,
      options: ClientCallOptions = {},
    ): ResponseStream<MessageShape<O>> => {
      const scope = this.#scope(options, options.timeoutMs);
      const messages = created(method.input, requests);
      return new ClientStream<MessageShape<O>>({
        left: undefined,
        open: () => this.#channel.duplex(method, messages, this.#callOptions(options, scope)),
        first: (attempt) => this.#watched(method, attempt),
        look: (info) => this.#look(method, info),
        judge: (error) => this.#judge(method, error),
      });
    };
  }

  #scope(options: ClientCallOptions, timeoutMs: number | undefined): RepeatScope {
    return {
      policy:
        options.repeat === undefined ? this.#policy : repeatPolicy(this.#options.repeat, options.repeat),
      clock: this.#clock,
      random: this.#random,
      signal: options.signal,
      deadlineAt: timeoutMs === undefined ? undefined : this.#clock.now() + timeoutMs,
    };
  }

  /** Options of one attempt: what is left of the deadline, the headers of client and call. */
  #callOptions(options: ClientCallOptions, { deadlineAt }: RepeatScope): CallOptions {
    const { signal } = options;
    const headers =
      options.headers === undefined
        ? this.#options.headers
        : { ...this.#options.headers, ...options.headers };
    return {
      ...(signal === undefined ? {} : { signal }),
      ...(headers === undefined ? {} : { headers }),
      ...(deadlineAt === undefined ? {} : { timeoutMs: deadlineAt - this.#clock.now() }),
    };
  }

  async #watched<T>(method: DescMethod, attempt: () => Promise<T>): Promise<T> {
    try {
      return await attempt();
    } catch (error) {
      throw this.#judge(method, error);
    }
  }

  /** The error of a call, or that another instance gave it. */
  #judge(method: DescMethod, error: unknown): unknown {
    if (!(error instanceof CallError) || error instanceof InstanceChangedError) return error;
    try {
      this.#look(method, error.info, error);
      return error;
    } catch (changed) {
      return changed;
    }
  }

  /** @throws InstanceChangedError - Another instance than the expected one has answered. */
  #look(method: DescMethod, info: CallInfo, answer?: CallError): void {
    const { expectInstance, onInstance } = this.#options;
    if (expectInstance === undefined && onInstance === undefined) return;
    const found = instanceOf(info);
    if (found === undefined) return;
    onInstance?.(found);
    if (expectInstance !== undefined && found !== expectInstance) {
      const place = { method, target: this.#channel.target, info };
      throw new InstanceChangedError(place, { expected: expectInstance, found }, answer);
    }
  }
}

/** The requests as messages. No generator, which would make five promises a request of one. */
function created<I extends DescMessage>(
  schema: I,
  requests: AsyncIterable<MessageInitShape<I>>,
): AsyncIterable<MessageShape<I>> {
  return {
    [Symbol.asyncIterator]() {
      const iterator = requests[Symbol.asyncIterator]();
      return {
        async next() {
          const { done, value } = await iterator.next();
          return done === true ? { done, value: undefined } : { done: false, value: create(schema, value) };
        },
        async return() {
          await iterator.return?.();
          return { done: true, value: undefined };
        },
      };
    },
  };
}
