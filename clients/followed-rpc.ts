import {
  clone,
  create,
  type DescMessage,
  type DescMethodServerStreaming,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import type { Channel } from "./channel.js";
import type { ClientCallOptions, ClientOptions } from "./client.js";
import { systemClock } from "./clock.js";
import {
  DEFAULT_IDLE_MS,
  type EventReader,
  type EventStream,
  followOperation,
  type OperationStream,
} from "./follow-operation.js";
import { repeatPolicy } from "./repeat.js";

/** What the followed streams of a client share. */
export interface FollowedClient {
  readonly channel: Channel;
  readonly options: ClientOptions;
}

/** A streamed rpc of a client. */
export interface FollowedRpc<I extends DescMessage, O extends DescMessage, E> {
  readonly method: DescMethodServerStreaming<I, O>;
  /** One call of it, as the client makes it. */
  call(request: MessageShape<I>, options: ClientCallOptions): AsyncIterable<E>;
}

/** A request that says where its stream goes on. */
type Resumable = { afterSequence: bigint };

/** Makes the method that follows an operation to its terminal event. */
export function followed<I extends DescMessage, O extends DescMessage, E, T>(
  client: FollowedClient,
  rpc: FollowedRpc<I, O, E>,
  reader: EventReader<E, T>,
): (request: MessageInitShape<I>, options?: ClientCallOptions) => OperationStream<E, T> {
  return (init, options = {}) => follow(client, rpc, { init, options, reader, endsByItself: false });
}

/** Makes the method that reads records to their end, over lost connections. */
export function read<I extends DescMessage, O extends DescMessage, E>(
  client: FollowedClient,
  rpc: FollowedRpc<I, O, E>,
  places: Pick<EventReader<E, never>, "sequence" | "gap">,
): (request: MessageInitShape<I>, options?: ClientCallOptions) => EventStream<E> {
  const reader = { ...places, terminal: () => undefined };
  return (init, options = {}) => follow(client, rpc, { init, options, reader, endsByItself: true });
}

function follow<I extends DescMessage, O extends DescMessage, E, T>(
  client: FollowedClient,
  rpc: FollowedRpc<I, O, E>,
  what: {
    readonly init: MessageInitShape<I>;
    readonly options: ClientCallOptions;
    readonly reader: EventReader<E, T>;
    readonly endsByItself: boolean;
  },
): OperationStream<E, T> {
  const { channel, options: clientOptions } = client;
  const { options, reader, endsByItself } = what;
  const { method } = rpc;
  const request = create(method.input, what.init);
  const clock = clientOptions.clock ?? systemClock;
  const { signal, timeoutMs, ...others } = options;
  return followOperation({
    method,
    target: channel.target,
    reader,
    endsByItself,
    idleMs: clientOptions.idleMs ?? DEFAULT_IDLE_MS,
    afterSequence: isResumable(request) ? request.afterSequence : 0n,
    open: (afterSequence, attempt) => {
      let behind = request;
      if (isResumable(request) && request.afterSequence !== afterSequence) {
        behind = clone(method.input, request);
        if (isResumable(behind)) behind.afterSequence = afterSequence;
      }
      // This is the only place that repeats: the attempts of a stream are counted once.
      return rpc.call(behind, { ...others, ...attempt, repeat: false });
    },
    scope: {
      policy: repeatPolicy(clientOptions.repeat, options.repeat),
      clock,
      random: clientOptions.random ?? Math.random,
      signal,
      deadlineAt: timeoutMs === undefined ? undefined : clock.now() + timeoutMs,
    },
  });
}

function isResumable(request: object): request is Resumable {
  return "afterSequence" in request && typeof request.afterSequence === "bigint";
}
