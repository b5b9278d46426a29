import { type ActivationCompleted, FailureKind, type Item, Retry, Stage } from "../../gen/index.js";
import { OperationFailure } from "../runtime/failure.js";

/** What was heard of one turn: its items, each once and in order. */
export class HeardTurn {
  readonly output: Item[] = [];
  #gap = false;

  /** @param onItem - Told of each item. */
  constructor(private readonly onItem: (item: Item) => void) {}

  hear(item: Item): void {
    this.output.push(item);
    this.onItem(item);
  }

  /** Events were missed. */
  gap(): void {
    this.#gap = true;
  }

  /**
   * The terminal event is complete by itself (ALL-EVT-004): what it holds is the turn's output. Where it only refers to
   * that, the items that were heard are, unless some were missed.
   */
  complete({ output, outputRef }: ActivationCompleted): void {
    if (outputRef === undefined) {
      const heard = new Set(this.output.map(({ itemId }) => itemId));
      const missed = this.#gap
        ? output.filter(({ itemId }) => !heard.has(itemId))
        : output.slice(this.output.length);
      this.output.splice(0, this.output.length, ...output);
      for (const item of missed) this.onItem(item);
      return;
    }
    if (!this.#gap) return;
    throw new OperationFailure({
      kind: FailureKind.CAPTURE_FAILED,
      stage: Stage.ACTIVATE,
      retry: Retry.NEW_ATTEMPT,
      reason: "the turn's output is elsewhere, and some of its items were no longer told",
    });
  }
}
