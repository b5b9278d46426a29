import type {
  DescMessage,
  DescMethodBiDiStreaming,
  DescMethodClientStreaming,
  DescMethodServerStreaming,
  DescMethodUnary,
  MessageShape,
} from "@bufbuild/protobuf";
import { deliveryTrailer, instanceHeader } from "./metadata.js";

/** What a caller says of one call beside its request. */
export interface CallOptions {
  /** Ends the call. Its reason tells how: a `TimeoutError` is a passed deadline, anything else a cancellation. */
  readonly signal?: AbortSignal;
  /** The call's deadline, in milliseconds from now. It ends the wait, never the operation (ALL-LOST-001). */
  readonly timeoutMs?: number;
  /** Metadata, by lower-case names; values of `-bin` names are base64. The object must not change afterwards. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Headers or trailers that a peer sent. */
export interface CallMetadata {
  /** The first value of a name in lower case; base64 text for `-bin` names. */
  get(name: string): string | undefined;
  /** All names. */
  names(): string[];
}

/** What came with an answer beside its messages. */
export interface CallInfo {
  /** Empty until the peer's headers have come. */
  readonly headers: CallMetadata;
  /** Empty until the call has ended. */
  readonly trailers: CallMetadata;
}

const NO_METADATA: CallMetadata = { get: () => undefined, names: () => [] };

/** Nothing has come. */
export const NO_INFO: CallInfo = { headers: NO_METADATA, trailers: NO_METADATA };

/** The one answer of a call. `bytes` fields may share memory with what else came: copy the small ones that are kept. */
export interface Answer<O> {
  readonly message: O;
  readonly info: CallInfo;
}

/**
 * The answers of a call, to be read once. Leaving a `for await` loop early ends the call. `bytes` fields may share memory
 * with what else came: copy the small ones that are kept.
 *
 * Reading throws {@link CallError} when the call does not end well.
 */
export interface ResponseStream<O> extends AsyncIterable<O> {
  /** What has come so far beside the messages. */
  readonly info: CallInfo;
}

/** How busy a channel is. */
export interface ChannelStats {
  /** Connections that are up or being made. */
  readonly connections: number;
  /** Calls on their way. */
  readonly activeCalls: number;
  /** Calls that wait for a connection or for a free stream on one. */
  readonly waitingCalls: number;
  /** Calls that can be on their way at once, over all the connections that the channel may open. */
  readonly capacity: number;
}

/**
 * A way to call one server. All methods fail with {@link CallError} only, never repeat a call on their own, and never
 * let a peer that ignores the deadline hold the caller.
 */
export interface Channel extends AsyncDisposable {
  /** Where it goes, for messages: the endpoint's URL. */
  readonly target: string;
  /** One request, one answer. */
  unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageShape<I>,
    options?: CallOptions,
  ): Promise<Answer<MessageShape<O>>>;
  /** One request, many answers. A slow reader slows the peer. */
  serverStream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>,
    request: MessageShape<I>,
    options?: CallOptions,
  ): ResponseStream<MessageShape<O>>;
  /** Many requests, one answer. A slow peer slows the requests; an answer before their end stops them. */
  clientStream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodClientStreaming<I, O>,
    requests: AsyncIterable<MessageShape<I>>,
    options?: CallOptions,
  ): Promise<Answer<MessageShape<O>>>;
  /** Requests and answers at the same time. The end of the requests half-closes. */
  duplex<I extends DescMessage, O extends DescMessage>(
    method: DescMethodBiDiStreaming<I, O>,
    requests: AsyncIterable<MessageShape<I>>,
    options?: CallOptions,
  ): ResponseStream<MessageShape<O>>;
  /** How busy it is now. */
  stats(): ChannelStats;
  /** Refuses new calls, ends those on their way, closes the connections. */
  close(): Promise<void>;
}

/** The instance that answered (R14): header `touchstone-instance`. */
export function instanceOf(info: CallInfo): string | undefined {
  return info.headers.get(instanceHeader);
}

/** Whether an operation was `started`, `joined` or `replayed` (ALL-REPEAT-019): trailer `touchstone-delivery`. */
export function deliveryOf(info: CallInfo): string | undefined {
  return info.trailers.get(deliveryTrailer);
}
