import { create } from "@bufbuild/protobuf";
import {
  type CleanUp,
  CleanUpSchema,
  type CloseReceipt,
  FailureKind,
  type ResourceIntent,
  Retry,
  Stage,
} from "../../gen/index.js";
import type { Clock } from "../runtime/clock.js";
import { fromMs } from "../runtime/duration.js";
import { OperationFailure, timeoutFailure, toFailure } from "../runtime/failure.js";

/** Something that must be released. */
export interface Owned {
  readonly intent: ResourceIntent;
  /** Releases it and answers its receipt; called once at a time. */
  readonly release: (signal: AbortSignal) => Promise<CloseReceipt | undefined>;
}

/** What a stack of clean-ups needs. */
export interface CleanUpStackOptions {
  readonly clock: Clock;
  /** Bound of each clean-up in milliseconds (EPI-E2-006). */
  readonly timeoutMs: number;
  /** Told of each intent, before the resource is made (E1). */
  readonly onIntent: (intent: ResourceIntent) => void;
  /** Told of each release that was confirmed. */
  readonly onReleased: (intent: ResourceIntent) => void;
}

interface Entry extends Owned {
  result: CleanUp | undefined;
}

/**
 * The only place that knows of release. What is about to be made is registered here first; at the end everything is
 * released in reverse, each within its own time, whatever became of the others (E1, E2). No signal of the episode gets
 * in: clean-up is shielded.
 */
export class CleanUpStack {
  readonly #entries: Entry[] = [];

  constructor(private readonly options: CleanUpStackOptions) {}

  /** Registers a resource and tells its intent, before the call that makes it (EPI-E1-003). */
  own(owned: Owned): void {
    this.#entries.push({ ...owned, result: undefined });
    this.options.onIntent(owned.intent);
  }

  /** Releases one resource now. */
  async release(id: string): Promise<CleanUp | undefined> {
    const entry = this.#entries.find(({ intent }) => intent.id === id);
    if (entry === undefined) return undefined;
    return await this.#release(entry);
  }

  /** Releases what is left, last registered first, and tells of everything (EPI-E2-001, EPI-OUT-006). */
  async releaseAll(): Promise<CleanUp[]> {
    for (const entry of this.#entries.toReversed()) await this.#release(entry);
    return this.#entries.flatMap(({ result }) => (result === undefined ? [] : [result]));
  }

  async #release(entry: Entry): Promise<CleanUp> {
    if (entry.result?.released === true) return entry.result;
    const { clock } = this.options;
    const started = clock.now();
    let failure: CleanUp["failure"];
    try {
      const receipt = await this.#bounded(entry);
      if (receipt !== undefined && !receipt.cleanupConfirmed) {
        const left = receipt.left.map(({ kind, id }) => `${kind} ${id}`).join(", ");
        throw new OperationFailure({
          kind: FailureKind.UNAVAILABLE,
          retry: Retry.NEVER,
          reason: `the server could not confirm the release; left: ${left || "unknown"}`,
        });
      }
    } catch (error) {
      failure = toFailure(error, { stage: Stage.CLEAN_UP, agentId: entry.intent.agentId });
    }
    entry.result = create(CleanUpSchema, {
      resource: entry.intent,
      released: failure === undefined,
      duration: fromMs(clock.now() - started),
      ...(failure === undefined ? {} : { failure }),
    });
    if (failure === undefined) this.options.onReleased(entry.intent);
    return entry.result;
  }

  async #bounded(entry: Entry): Promise<CloseReceipt | undefined> {
    const { clock, timeoutMs } = this.options;
    const over = new AbortController();
    let expire: () => void = () => {};
    const expired = new Promise<never>((_resolve, reject) => {
      expire = () => reject(timeoutFailure("a clean-up", timeoutMs));
    });
    const timer = clock.setTimer(timeoutMs, () => {
      expire();
      over.abort();
    });
    try {
      return await Promise.race([entry.release(over.signal), expired]);
    } finally {
      timer.cancel();
    }
  }
}
