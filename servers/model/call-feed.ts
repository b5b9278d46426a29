import { create } from "@bufbuild/protobuf";
import { type StreamGenerateResponse, StreamGenerateResponseSchema } from "../../gen/index.js";
import type { Clock } from "../runtime/clock.js";
import { firstMessageMs, heartbeatMs } from "../runtime/event-log.js";
import type { ChoicePiece } from "./pieces.js";

/**
 * The events of one StreamGenerate between the model, which does not wait, and the reader, who may be slow. Pieces of
 * one item that wait are joined, so that what waits is never larger than the answer.
 */
export class CallFeed {
  #pending: (StreamGenerateResponse | ChoicePiece)[] = [];
  #ended = false;
  #error: { readonly error: unknown } | undefined;
  #wake: () => void = () => {};

  /** The call has begun. */
  started(callId: string): void {
    this.#push(create(StreamGenerateResponseSchema, { event: { case: "started", value: { callId } } }));
  }

  /** A piece of a choice. */
  piece({ choiceIndex, piece }: ChoicePiece): void {
    if (this.#ended) return;
    const last = this.#pending.at(-1);
    const joins =
      last !== undefined &&
      "piece" in last &&
      last.choiceIndex === choiceIndex &&
      last.piece.itemId === piece.itemId &&
      last.piece.kind === piece.kind;
    if (!joins) {
      this.#push({ choiceIndex, piece });
      return;
    }
    this.#pending[this.#pending.length - 1] = {
      choiceIndex,
      piece: { ...piece, text: last.piece.text + piece.text },
    };
  }

  /** The call has ended with its whole answer. */
  completed(response: StreamGenerateResponse): void {
    this.#ended = true;
    this.#push(response);
  }

  /** The call has ended with an error. */
  failed(error: unknown): void {
    this.#error = { error };
    this.#wake();
  }

  /** The events, with heartbeats where none is due (R17). Ends silently when the reader leaves. */
  async *read(options: {
    readonly signal: AbortSignal;
    readonly clock: Clock;
  }): AsyncGenerator<StreamGenerateResponse> {
    const { signal, clock } = options;
    const leave = (): void => this.#wake();
    signal.addEventListener("abort", leave, { once: true });
    // ALL-ALIVE-001: a call that waits for a place says so within 1 s.
    let silenceMs = firstMessageMs;
    try {
      while (!signal.aborted) {
        const next = this.#pending.shift();
        if (next !== undefined) {
          silenceMs = heartbeatMs;
          yield "piece" in next ? deltaOf(next) : next;
          continue;
        }
        if (this.#error !== undefined) throw this.#error.error;
        if (this.#ended) return;
        const silent = await new Promise<boolean>((resolve) => {
          const timer = clock.setTimer(silenceMs, () => resolve(true));
          this.#wake = () => {
            timer.cancel();
            resolve(false);
          };
        });
        if (!silent) continue;
        silenceMs = heartbeatMs;
        yield create(StreamGenerateResponseSchema, { event: { case: "heartbeat", value: {} } });
      }
    } finally {
      signal.removeEventListener("abort", leave);
    }
  }

  #push(event: StreamGenerateResponse | ChoicePiece): void {
    this.#pending.push(event);
    this.#wake();
  }
}

function deltaOf({ choiceIndex, piece }: ChoicePiece): StreamGenerateResponse {
  return create(StreamGenerateResponseSchema, {
    event: {
      case: "delta",
      value: { choiceIndex, delta: { itemId: piece.itemId, piece: { case: piece.kind, value: piece.text } } },
    },
  });
}
