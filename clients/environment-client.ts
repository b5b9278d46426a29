import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  EnvironmentService,
  type VerifyRequestSchema,
  type VerifyResponse,
  type VerifyResult,
  type WatchStepsRequestSchema,
  type WatchStepsResponse,
} from "../gen/index.js";
import type { Channel } from "./channel.js";
import { type Client, type ClientCallOptions, type ClientOptions, createClient } from "./client.js";
import { systemClock } from "./clock.js";
import { DEFAULT_IDLE_MS, type EventStream, type OperationStream } from "./follow-operation.js";
import { followed, read } from "./followed-rpc.js";
import { repeatPolicy } from "./repeat.js";
import { DEFAULT_STEP_WINDOW, openStepStream, type StepStream } from "./step-stream.js";

/** A client of an environment. */
export interface EnvironmentClient extends Omit<Client<typeof EnvironmentService>, "verify" | "watchSteps"> {
  /**
   * Verifies, and waits for the result over lost connections. A result may hold a failure, or, from a newer server,
   * neither: only a verdict is one.
   */
  verify(
    request: MessageInitShape<typeof VerifyRequestSchema>,
    options?: ClientCallOptions,
  ): Promise<VerifyResult>;
  /** The same, event by event. */
  verifyEvents(
    request: MessageInitShape<typeof VerifyRequestSchema>,
    options?: ClientCallOptions,
  ): OperationStream<VerifyResponse, VerifyResult>;
  /**
   * Takes steps without waiting for each answer, over lost connections. `window`: frames on their way at most, 16 or up to
   * Describe's max_pipelined_steps.
   */
  openStepStream(options?: ClientCallOptions & { readonly window?: number }): StepStream;
  /** Follows the steps of a session until it ends. */
  watchSteps(
    request: MessageInitShape<typeof WatchStepsRequestSchema>,
    options?: ClientCallOptions,
  ): EventStream<WatchStepsResponse>;
}

/**
 * A client of an environment over a channel.
 *
 * @example
 * const environment = environmentClient(grpcJsChannel({ url: "http://127.0.0.1:7001" }));
 * const { session } = await environment.seed({ sessionId, context, source: { case: "task", value: task } });
 * const result = await environment.verify({ target: { case: "session", value: { sessionId, final: true } } });
 */
export function environmentClient(channel: Channel, options: ClientOptions = {}): EnvironmentClient {
  const client = createClient(EnvironmentService, channel, options);
  const scope = { channel, options };
  const { verify, watchSteps } = EnvironmentService.method;
  const verifyEvents = followed(
    scope,
    { method: verify, call: client.verify },
    {
      sequence: (event) => event.sequence,
      gap: () => undefined,
      terminal: ({ event }) => (event.case === "result" ? event.value : undefined),
    },
  );
  return {
    ...client,
    verify: (request, callOptions) => verifyEvents(request, callOptions).result(),
    verifyEvents,
    openStepStream({ window = DEFAULT_STEP_WINDOW, ...callOptions } = {}) {
      const clock = options.clock ?? systemClock;
      return openStepStream({
        target: channel.target,
        open: (requests, attempt) => client.stepStream(requests, { ...callOptions, ...attempt }),
        scope: {
          policy: repeatPolicy(options.repeat, callOptions.repeat),
          clock,
          random: options.random ?? Math.random,
          signal: callOptions.signal,
        },
        idleMs: options.idleMs ?? DEFAULT_IDLE_MS,
        window,
      });
    },
    watchSteps: read(
      scope,
      { method: watchSteps, call: client.watchSteps },
      {
        sequence: ({ event }) => (event.case === "step" ? (event.value.response?.sequence ?? 0n) : 0n),
        gap: ({ event }) => (event.case === "gap" ? event.value.untilSequence : undefined),
      },
    ),
  };
}
