import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import {
  EnvironmentService,
  type StepRequest,
  StepRequestSchema,
  type StepResponse,
  type StepStreamRequest,
  StepStreamRequestSchema,
  type StepStreamResponse,
} from "../gen/index.js";
import { type CallError, callError, callErrorOfStatus, InstanceChangedError } from "./call-error.js";
import { lostEnd } from "./channel/call-end.js";
import { type CallInfo, instanceOf, NO_INFO, type ResponseStream } from "./channel.js";
import type { ClientCallOptions } from "./client.js";
import { IdleWatchdog } from "./idle-watchdog.js";
import { pauseOrThrow, RepeatBudget, type RepeatScope } from "./repeat.js";

/** Steps of a session, taken without waiting for each answer, over lost connections (feature STEP_STREAM). */
export interface StepStream extends AsyncDisposable {
  /**
   * Takes a step. Steps are sent in the order of the calls and answered in it; each runs once, whatever becomes of the
   * connection (ENV-STRM-005).
   *
   * @throws CallError - The step was refused or failed, or the stream was lost beyond the policy.
   * @throws InstanceChangedError - Another instance answers: the session is lost (R14).
   */
  step(request: MessageInitShape<typeof StepRequestSchema>): Promise<StepResponse>;
  /** Takes no more steps; resolves when those on their way are answered. */
  close(): Promise<void>;
}

/** What a stream of steps works with. */
export interface StepStreamOptions {
  /** URL of the endpoint, for messages. */
  readonly target: string;
  /** One attempt at the rpc. */
  open(
    requests: AsyncIterable<StepStreamRequest>,
    options: ClientCallOptions,
  ): ResponseStream<StepStreamResponse>;
  readonly scope: RepeatScope;
  /** Silence, in milliseconds, after which a connection is taken as lost. */
  readonly idleMs: number;
  /** Frames on their way at most; no more than Describe's max_pipelined_steps. */
  readonly window: number;
}

/** Every server takes so many (R13: max_pipelined_steps is at least 16). */
export const DEFAULT_STEP_WINDOW = 16;

interface Waiting {
  readonly frame: bigint;
  readonly request: StepRequest;
  readonly resolve: (response: StepResponse) => void;
  readonly reject: (error: unknown) => void;
}

const method = EnvironmentService.method.stepStream;

/** Opens a stream of steps. Nothing is sent before the first step. */
export function openStepStream(options: StepStreamOptions): StepStream {
  const steps = new ResumedSteps(options);
  return {
    step: (request) => steps.add(create(StepRequestSchema, request)),
    close: () => steps.close(),
    [Symbol.asyncDispose]: () => steps.close(),
  };
}

class ResumedSteps {
  readonly #options: StepStreamOptions;
  /** Steps without an answer, in their order; what a new connection sends again. */
  readonly #unanswered = new Map<bigint, Waiting>();
  #frames = 0n;
  /** The instance that answered first. */
  #instance: string | undefined;
  #closing = false;
  #running: Promise<void> | undefined;
  #failed: { readonly error: unknown } | undefined;
  /** Wakes the sender of the connection that is up, or whoever waits for a step to make one for. */
  #wake: () => void = () => {};

  constructor(options: StepStreamOptions) {
    this.#options = options;
  }

  add(request: StepRequest): Promise<StepResponse> {
    if (this.#failed !== undefined) return Promise.reject(this.#failed.error);
    if (this.#closing) return Promise.reject(new Error("the stream of steps was closed: no further step"));
    this.#frames += 1n;
    const frame = this.#frames;
    const answered = new Promise<StepResponse>((resolve, reject) => {
      this.#unanswered.set(frame, { frame, request, resolve, reject });
    });
    this.#wake();
    this.#running ??= this.#run();
    return answered;
  }

  async close(): Promise<void> {
    this.#closing = true;
    this.#wake();
    await this.#running;
  }

  /** Keeps a connection up until all is answered and nothing follows. Never rejects: the steps themselves do. */
  async #run(): Promise<void> {
    const { scope } = this.#options;
    const budget = new RepeatBudget("operation", scope);
    while (!this.#closing || this.#unanswered.size > 0) {
      if (this.#unanswered.size === 0) await this.#woken();
      if (this.#unanswered.size === 0) continue;
      const beganAt = scope.clock.now();
      try {
        await this.#attempt(() => budget.reset());
      } catch (lost) {
        // One that was lost while nothing was asked of it had done all that it was for.
        budget.connectionEnded({ beganAt, achieved: this.#unanswered.size === 0 });
        try {
          await pauseOrThrow(lost, budget, scope);
        } catch (error) {
          this.#fail(error);
          return;
        }
      }
    }
  }

  /** One connection: sends what is unanswered and what comes, settles what is answered. Throws where it is lost. */
  async #attempt(onAnswer: () => void): Promise<void> {
    const { open, scope, idleMs } = this.#options;
    const over = new AbortController();
    const watchdog = new IdleWatchdog(scope.clock, idleMs, () => over.abort());
    const signal = scope.signal === undefined ? over.signal : AbortSignal.any([scope.signal, over.signal]);
    const sending = { ended: false };
    const responses = open(this.#framesOf(sending), { signal, repeat: false });
    try {
      watchdog.wait();
      for await (const response of responses) {
        watchdog.wait();
        this.#checkInstance(responses.info);
        if (response.frame === 0n) continue;
        onAnswer();
        this.#settle(response, responses.info);
      }
    } catch (error) {
      if (!over.signal.aborted) throw error;
      throw this.#lost(`nothing came for ${idleMs} ms: the connection is taken as lost`);
    } finally {
      sending.ended = true;
      this.#wake();
      watchdog.stop();
    }
    if (!this.#closing || this.#unanswered.size > 0)
      throw this.#lost("found its end before all steps were answered");
  }

  /** The frames of one connection. Ends, and with it half-closes, when all is sent and nothing follows. */
  async *#framesOf(sending: { readonly ended: boolean }): AsyncGenerator<StepStreamRequest, void> {
    let sent = 0n;
    while (!sending.ended) {
      const next = this.#next(sent);
      if (next !== undefined) {
        sent = next.frame;
        yield create(StepStreamRequestSchema, {
          frame: next.frame,
          operations: [{ operation: { case: "step", value: next.request } }],
        });
        continue;
      }
      if (this.#closing && sent >= this.#frames) return;
      await this.#woken();
    }
  }

  /** Resolves when a step came, was answered, or the stream is closed. */
  #woken(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  /** The next step to send behind a frame, where the window has room for it. */
  #next(sent: bigint): Waiting | undefined {
    let onTheirWay = 0;
    for (const waiting of this.#unanswered.values()) {
      if (waiting.frame > sent) return onTheirWay < this.#options.window ? waiting : undefined;
      onTheirWay += 1;
    }
    return undefined;
  }

  #settle({ frame, answers: [first] }: StepStreamResponse, info: CallInfo): void {
    const waiting = this.#unanswered.get(frame);
    // Of a frame that an earlier connection answered already there is nothing left to tell.
    if (waiting === undefined) return;
    this.#unanswered.delete(frame);
    this.#wake();
    const answer = first?.answer;
    if (answer?.case === "step") {
      waiting.resolve(answer.value);
    } else if (answer?.case === "error") {
      waiting.reject(callErrorOfStatus({ method, target: this.#options.target, info }, answer.value));
    } else {
      waiting.reject(
        this.#lost(`expected the answer of a step in frame ${frame}, found ${answer?.case ?? "none"}`),
      );
    }
  }

  #checkInstance(info: CallInfo): void {
    const found = instanceOf(info);
    if (found === undefined) return;
    this.#instance ??= found;
    const expected = this.#instance;
    if (found === expected) return;
    throw new InstanceChangedError({ method, target: this.#options.target, info }, { expected, found });
  }

  #fail(error: unknown): void {
    this.#failed = { error };
    for (const { reject } of this.#unanswered.values()) reject(error);
    this.#unanswered.clear();
  }

  #lost(message: string): CallError {
    const place = { method, target: this.#options.target, info: NO_INFO };
    return callError(place, lostEnd(Code.Unavailable, message));
  }
}
