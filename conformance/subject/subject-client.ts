import type {
  DescMessage,
  DescMethod,
  DescMethodStreaming,
  DescMethodUnary,
  DescService,
  MessageInitShape,
  MessageShape,
} from "@bufbuild/protobuf";
import type { Transport } from "@connectrpc/connect";
import { type Reply, type ReplyMetadata, type StreamReply, statusOf } from "./reply.js";

/** How one call is made. */
export interface CallOptions {
  /** Added to what the subject requires of every call. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Deadline of the call, grpc-timeout, in milliseconds. Absent: none. */
  readonly deadlineMs?: number;
  /** Ends the call early: RST_STREAM(CANCEL). */
  readonly signal?: AbortSignal;
}

/** A stream of answers while it runs. */
export interface Feed<T> {
  /** The next message; undefined: the stream has ended, `end` tells how. */
  next(): Promise<T | undefined>;
  /** Reads what is left and tells everything. */
  finish(): Promise<StreamReply<T>>;
  /** Leaves: RST_STREAM(CANCEL). */
  cancel(): void;
  /** Headers, once the first of anything has come. */
  readonly headers: Promise<Headers>;
}

type UnaryCall<I extends DescMessage, O extends DescMessage> = (
  request: MessageInitShape<I>,
  options?: CallOptions,
) => Promise<Reply<MessageShape<O>>>;

type FeedCall<I extends DescMessage, O extends DescMessage> = (
  request: MessageInitShape<I>,
  options?: CallOptions,
) => Feed<MessageShape<O>>;

type ClientStreamCall<I extends DescMessage, O extends DescMessage> = (
  requests: AsyncIterable<MessageInitShape<I>>,
  options?: CallOptions,
) => Promise<Reply<MessageShape<O>>>;

type BidiCall<I extends DescMessage, O extends DescMessage> = (
  requests: AsyncIterable<MessageInitShape<I>>,
  options?: CallOptions,
) => Feed<MessageShape<O>>;

/** Calls of a service that never throw for what the subject did: every status is a value to be judged. */
export type SubjectClient<S extends DescService> = {
  [M in keyof S["method"]]: S["method"][M]["methodKind"] extends "unary"
    ? UnaryCall<S["method"][M]["input"], S["method"][M]["output"]>
    : S["method"][M]["methodKind"] extends "server_streaming"
      ? FeedCall<S["method"][M]["input"], S["method"][M]["output"]>
      : S["method"][M]["methodKind"] extends "client_streaming"
        ? ClientStreamCall<S["method"][M]["input"], S["method"][M]["output"]>
        : BidiCall<S["method"][M]["input"], S["method"][M]["output"]>;
};

/** What calls of a check share. */
export interface ClientContext {
  readonly transport: Transport;
  /** Metadata that the subject requires. */
  readonly headers: Readonly<Record<string, string>>;
  /** Ends with the check: nothing outlives it. */
  readonly signal: AbortSignal;
}

async function* once<T>(value: T): AsyncIterable<T> {
  yield value;
}

/** Calls of one service over one connection. */
export function subjectClient<S extends DescService>(service: S, context: ClientContext): SubjectClient<S> {
  const { transport } = context;
  const signalOf = (options: CallOptions): AbortSignal =>
    options.signal === undefined ? context.signal : AbortSignal.any([context.signal, options.signal]);
  const headersOf = (options: CallOptions): HeadersInit => ({ ...context.headers, ...options.headers });
  const stream = (method: DescMethodStreaming, requests: AsyncIterable<object>, options: CallOptions) =>
    openFeed<unknown>(`${service.name}.${method.name}`, signalOf(options), (signal) =>
      transport.stream(
        method,
        signal,
        options.deadlineMs,
        headersOf(options),
        requests as AsyncIterable<never>,
      ),
    );
  const unary = async (method: DescMethodUnary, request: object, options: CallOptions) => {
    const rpc = `${service.name}.${method.name}`;
    try {
      const answer = await transport.unary(
        method,
        signalOf(options),
        options.deadlineMs,
        headersOf(options),
        request as never,
      );
      return {
        rpc,
        message: answer.message,
        status: undefined,
        headers: answer.header,
        trailers: answer.trailer,
      };
    } catch (error) {
      return { message: undefined, status: statusOf(error), ...metadataOf(rpc, error) };
    }
  };
  const call = (method: DescMethod): unknown => {
    switch (method.methodKind) {
      case "unary":
        return (request: object, options: CallOptions = {}) =>
          unary(method as DescMethodUnary, request, options);
      case "server_streaming":
        return (request: object, options: CallOptions = {}) =>
          stream(method as DescMethodStreaming, once(request), options);
      case "bidi_streaming":
        return (requests: AsyncIterable<object>, options: CallOptions = {}) =>
          stream(method as DescMethodStreaming, requests, options);
      case "client_streaming":
        return async (requests: AsyncIterable<object>, options: CallOptions = {}) => {
          const { messages, ...end } = await stream(
            method as DescMethodStreaming,
            requests,
            options,
          ).finish();
          const [message] = messages;
          return message === undefined
            ? { ...end, message, status: end.status ?? noAnswer }
            : { ...end, message };
        };
    }
  };
  return Object.fromEntries(
    service.methods.map((method) => [method.localName, call(method)]),
  ) as SubjectClient<S>;
}

const noAnswer = statusOf(new Error("OK without an answer"));

function metadataOf(rpc: string, error: unknown): ReplyMetadata {
  // Libraries join the headers and trailers of a failed call: both are looked for in the same place.
  const metadata =
    error instanceof Error && "metadata" in error && error.metadata instanceof Headers
      ? error.metadata
      : new Headers();
  return { rpc, headers: metadata, trailers: metadata };
}

function openFeed<T>(
  rpc: string,
  outer: AbortSignal,
  start: (signal: AbortSignal) => Promise<{
    readonly header: Headers;
    readonly trailer: Headers;
    readonly message: AsyncIterable<unknown>;
  }>,
): Feed<T> {
  const leave = new AbortController();
  const opened = start(AbortSignal.any([outer, leave.signal]));
  const messages: T[] = [];
  let iterator: AsyncIterator<unknown> | undefined;
  let end: Omit<StreamReply<T>, "messages"> | undefined;
  const next = async (): Promise<T | undefined> => {
    if (end !== undefined) return undefined;
    try {
      const response = await opened;
      iterator ??= response.message[Symbol.asyncIterator]();
      const step = await iterator.next();
      if (step.done === true) {
        end = { rpc, status: undefined, headers: response.header, trailers: response.trailer };
        return undefined;
      }
      messages.push(step.value as T);
      return step.value as T;
    } catch (error) {
      end = { status: statusOf(error), ...metadataOf(rpc, error) };
      return undefined;
    }
  };
  opened.catch(() => undefined);
  return {
    next,
    async finish() {
      while ((await next()) !== undefined);
      if (end === undefined) throw new Error("a stream that gave no message has no end");
      return { ...end, messages };
    },
    cancel: () => leave.abort(),
    get headers() {
      return opened.then(
        (response) => response.header,
        (error: unknown) => metadataOf(rpc, error).headers,
      );
    },
  };
}
