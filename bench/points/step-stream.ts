import type { MessageInitShape } from "@bufbuild/protobuf";
import { type Channel, environmentClient, http2Channel } from "../../clients/index.js";
import type { StepResponse, StepStreamRequestSchema, StepStreamResponse } from "../../gen/index.js";
import { RequestQueue } from "../load/request-queue.js";
import { serveCounter } from "../world/counter-server.js";
import { CounterSession } from "../world/counter-session.js";
import { checkStep, stepRequest } from "../world/step-messages.js";
import type { LoadSession, Point } from "./point.js";

/** A session that takes its steps on a stream of its own, each when the one before was answered. */
class StreamSession implements LoadSession {
  readonly #session: CounterSession;
  #frames = new RequestQueue<MessageInitShape<typeof StepStreamRequestSchema>>();
  #answers: AsyncIterator<StepStreamResponse> | undefined;

  constructor(channel: Channel) {
    this.#session = new CounterSession(environmentClient(channel));
  }

  async reset(): Promise<void> {
    await this.close();
    await this.#session.seed();
    this.#frames = new RequestQueue();
    this.#answers = this.#session.client.stepStream(this.#frames)[Symbol.asyncIterator]();
  }

  async step(): Promise<boolean> {
    const { id, index } = this.#session;
    const frame = BigInt(index + 1);
    this.#frames.push({
      frame,
      operations: [{ operation: { case: "step", value: stepRequest(id, index) } }],
    });
    const over = checkStep(stepOf(await this.#next(), frame), index);
    this.#session.index += 1;
    return over;
  }

  async close(): Promise<void> {
    if (this.#answers !== undefined) {
      this.#frames.end();
      const end = await this.#answers.next();
      if (end.done !== true) throw new Error("expected the end of the stream, found one more answer");
      this.#answers = undefined;
    }
    await this.#session.close();
  }

  /** The next answer that is no heartbeat. */
  async #next(): Promise<StepStreamResponse> {
    for (;;) {
      const answer = await this.#answers?.next();
      if (answer === undefined || answer.done === true) throw new Error("the stream ended before its answer");
      if (answer.value.answers.length > 0) return answer.value;
    }
  }
}

function stepOf({ frame, answers }: StepStreamResponse, expected: bigint): StepResponse {
  const answer = answers[0]?.answer;
  if (frame === expected && answers.length === 1 && answer?.case === "step") return answer.value;
  const found = answer?.case === "error" ? answer.value.message : answer?.case;
  throw new Error(`expected the step of frame ${expected}, found frame ${frame}: ${found}`);
}

/** What opens sessions with a stream each over one channel. */
export const streamSessions = (channel: Channel) => async (): Promise<LoadSession> =>
  new StreamSession(channel);

/** StepStream over the thin channel: the hot path. */
export const point: Point = {
  serve: serveCounter,
  connect: async (url) => streamSessions(http2Channel({ url })),
};
