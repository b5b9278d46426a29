import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type AttachRequestSchema,
  type EpisodeEvent,
  EpisodeEventSchema,
  type EpisodeOutcome,
  EpisodeService,
  type ReadTrajectoryRequestSchema,
  type ReadTrajectoryResponse,
  type RunRequestSchema,
} from "../gen/index.js";
import type { Channel } from "./channel.js";
import { type Client, type ClientCallOptions, type ClientOptions, createClient } from "./client.js";
import type { EventReader, EventStream, OperationStream } from "./follow-operation.js";
import { followed, read } from "./followed-rpc.js";

/** A client of a driver. */
export interface EpisodeClient
  extends Omit<Client<typeof EpisodeService>, "run" | "attach" | "readTrajectory"> {
  /** Runs an episode and follows it to its outcome, over lost connections. */
  run(
    request: MessageInitShape<typeof RunRequestSchema>,
    options?: ClientCallOptions,
  ): OperationStream<EpisodeEvent, EpisodeOutcome>;
  /** Follows an episode that was started elsewhere. */
  attach(
    request: MessageInitShape<typeof AttachRequestSchema>,
    options?: ClientCallOptions,
  ): OperationStream<EpisodeEvent, EpisodeOutcome>;
  /** What was said, done and earned, over lost connections. */
  readTrajectory(
    request: MessageInitShape<typeof ReadTrajectoryRequestSchema>,
    options?: ClientCallOptions,
  ): EventStream<ReadTrajectoryResponse>;
}

const EVENTS: EventReader<EpisodeEvent, EpisodeOutcome> = {
  sequence: (event) => event.sequence,
  gap: ({ event }) => (event.case === "gap" ? event.value.untilSequence : undefined),
  terminal: ({ event }) => (event.case === "outcome" ? event.value : undefined),
};

/** A client of a driver over a channel. */
export function episodeClient(channel: Channel, options: ClientOptions = {}): EpisodeClient {
  const client = createClient(EpisodeService, channel, options);
  const scope = { channel, options };
  const { run, attach, readTrajectory } = EpisodeService.method;
  return {
    ...client,
    run: followed(
      scope,
      { method: run, call: (request, callOptions) => unwrapped(client.run(request, callOptions)) },
      EVENTS,
    ),
    attach: followed(
      scope,
      { method: attach, call: (request, callOptions) => unwrapped(client.attach(request, callOptions)) },
      EVENTS,
    ),
    readTrajectory: read(
      scope,
      { method: readTrajectory, call: client.readTrajectory },
      { sequence: (record) => record.sequence, gap: () => undefined },
    ),
  };
}

/** The events of answers that hold one each. */
function unwrapped(
  answers: AsyncIterable<{ readonly event?: EpisodeEvent | undefined }>,
): AsyncIterable<EpisodeEvent> {
  return {
    [Symbol.asyncIterator]() {
      const iterator = answers[Symbol.asyncIterator]();
      return {
        async next() {
          const { done, value } = await iterator.next();
          return done === true
            ? { done, value: undefined }
            : { done: false, value: value.event ?? create(EpisodeEventSchema) };
        },
        async return() {
          await iterator.return?.();
          return { done: true, value: undefined };
        },
      };
    },
  };
}
