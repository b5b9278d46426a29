import { rpcName } from "../../clients/index.js";
import {
  type ActivateResponse,
  type ActivationCompleted,
  AgentSessionService,
  Boundary,
  FailureKind,
  type Item,
  Retry,
  Stage,
  type Usage,
} from "../../gen/index.js";
import { OperationFailure } from "../runtime/failure.js";
import { answeredFailure } from "./answered-failure.js";

/** Who wants to know of a turn. */
export interface TurnListener {
  /** Told of each item, once and in order. */
  readonly onItem: (item: Item) => void;
  /** Aborts when the turn must end, keeping its work. */
  readonly finish: AbortSignal;
  /** Told once where `finish` aborts while the turn runs. */
  readonly onFinish: () => void;
}

/** What was heard of one turn of an agent, whatever comes of it. */
export class HeardTurn {
  readonly output: Item[] = [];
  /** What the turn used; told with its end. */
  usage: Usage | undefined;
  #begun = false;
  #gap = false;

  constructor(private readonly listener: TurnListener) {}

  /** Follows a turn to its end. Throws the failure that the agent told. */
  async follow(events: AsyncIterable<ActivateResponse>): Promise<ActivationCompleted> {
    const { finish, onFinish } = this.listener;
    // A turn that has not begun cannot be interrupted: that waits for its first event.
    const onAbort = (): void => {
      if (this.#begun) onFinish();
    };
    finish.addEventListener("abort", onAbort, { once: true });
    try {
      for await (const event of events) {
        if (!this.#begun && event.sequence > 0n) {
          this.#begun = true;
          if (finish.aborted) onFinish();
        }
        const completed = this.#hear(event);
        if (completed !== undefined) return completed;
      }
      throw new Error("a followed activation ended without a terminal event");
    } finally {
      finish.removeEventListener("abort", onAbort);
    }
  }

  #hear({ event }: ActivateResponse): ActivationCompleted | undefined {
    switch (event.case) {
      case "item":
        this.output.push(event.value);
        this.listener.onItem(event.value);
        return undefined;
      case "gap":
        this.#gap = true;
        return undefined;
      case "completed":
        this.usage = event.value.usage;
        this.#complete(event.value);
        return event.value;
      case "failed": {
        this.usage = event.value.usage;
        const rpc = rpcName(AgentSessionService.method.activate);
        throw answeredFailure(event.value.failure, { boundary: Boundary.AGENT, rpc });
      }
      default:
        return undefined;
    }
  }

  /**
   * The terminal event is complete by itself (ALL-EVT-004): what it holds is the turn's output. Where it only refers to
   * that, the items that were heard are, unless some were missed.
   */
  #complete({ output, outputRef }: ActivationCompleted): void {
    if (outputRef !== undefined) {
      if (this.#gap) throw missedOutput();
      return;
    }
    const heard = new Set(this.output.map(({ itemId }) => itemId));
    const missed = this.#gap
      ? output.filter(({ itemId }) => !heard.has(itemId))
      : output.slice(this.output.length);
    this.output.splice(0, this.output.length, ...output);
    for (const item of missed) this.listener.onItem(item);
  }
}

function missedOutput(): OperationFailure {
  return new OperationFailure({
    kind: FailureKind.CAPTURE_FAILED,
    stage: Stage.ACTIVATE,
    retry: Retry.NEW_ATTEMPT,
    reason: "the turn's output is elsewhere, and some of its items were no longer told",
  });
}
