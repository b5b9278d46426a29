import { clone, create } from "@bufbuild/protobuf";
import type { ClientCallOptions } from "../../clients/index.js";
import {
  type Boundary,
  type CleanUp,
  CleanUpSchema,
  type CloseReceipt,
  type Endpoint,
  type Failure,
  FailureKind,
  type ResourceIntent,
  ResourceIntentSchema,
  Retry,
  Stage,
} from "../../gen/index.js";
import type { Clock } from "../runtime/clock.js";
import { fromMs } from "../runtime/duration.js";
import { cutText, OperationFailure, toFailure } from "../runtime/failure.js";
import { type Logger, logError } from "../runtime/log.js";
import { pause } from "../runtime/pause.js";
import { failureOf } from "../runtime/peer-failure.js";
import { passed } from "./phases.js";
import { knobs } from "./timeouts.js";

/** Something that must be released. */
export interface Owned {
  readonly intent: ResourceIntent;
  /** Who holds it. */
  readonly boundary: Boundary;
  /** Releases it and answers its receipt; called once at a time, again where the receipt does not confirm. */
  readonly release: (options: ClientCallOptions) => Promise<CloseReceipt | undefined>;
}

/** What a stack of clean-ups needs. */
export interface CleanUpStackOptions {
  readonly clock: Clock;
  /** Has what `onReleased` throws: that is no reason to leave the rest. */
  readonly log: Logger;
  /** Bound of each clean-up in milliseconds (EPI-E2-006). */
  readonly timeoutMs: number;
  /** Told of each intent, before the resource is made (E1), and again when it is known where it went. */
  readonly onIntent: (intent: ResourceIntent) => void;
  /** Told of each release that was confirmed (EPI-E1-005). */
  readonly onReleased: (intent: ResourceIntent) => void;
}

interface Entry {
  readonly id: string;
  /** Absent for work that releases nothing. */
  readonly owned: (Owned & { intent: ResourceIntent }) | undefined;
  readonly work: (options: ClientCallOptions) => Promise<void>;
  /** The clean-up, once it was begun. */
  done: Promise<void> | undefined;
  result: CleanUp | undefined;
}

/** Milliseconds between tries of a server that could not confirm a release yet. */
const confirmAgainMs = 1000;
/**
 * Share of a clean-up's time in which a server that fails it is asked again; one that says nothing has the whole. A
 * definite refusal ends the clean-up at once.
 */
const triesShare = 1 / 3;

/**
 * The only place that knows of release. What is about to be made is registered here first; at the end everything is
 * released in reverse, each within its own time, whatever became of the others (E1, E2). No signal of the episode gets
 * in: clean-up is shielded.
 */
export class CleanUpStack {
  readonly #entries: Entry[] = [];
  readonly #options: CleanUpStackOptions;
  #spentMs = 0;

  constructor(options: CleanUpStackOptions) {
    this.#options = options;
  }

  /** Milliseconds that clean-ups took so far. */
  get spentMs(): number {
    return this.#spentMs;
  }

  /** How the clean-ups of resources ended, last registered first (EPI-OUT-006). */
  get results(): CleanUp[] {
    return this.#entries.toReversed().flatMap(({ result }) => result ?? []);
  }

  /** Registers a resource and tells its intent, before the call that makes it (EPI-E1-003). */
  own(owned: Owned): void {
    const entry: Entry = {
      id: owned.intent.id,
      owned: { ...owned },
      work: (options) => this.#untilConfirmed(owned, options),
      done: undefined,
      result: undefined,
    };
    this.#entries.push(entry);
    this.#options.onIntent(owned.intent);
  }

  /** Registers work to be done at this place of the clean-up that releases nothing; what it throws is its own affair. */
  defer(id: string, work: (options: ClientCallOptions) => Promise<void>): void {
    this.#entries.push({ id, owned: undefined, work, done: undefined, result: undefined });
  }

  /** The server told another endpoint for what follows: whoever must release the resource needs to know (EPI-E1-004). */
  moved(id: string, endpoint: Endpoint): void {
    const owned = this.#entries.find((entry) => entry.id === id)?.owned;
    if (owned === undefined) return;
    const intent = clone(ResourceIntentSchema, owned.intent);
    intent.endpoint = endpoint;
    owned.intent = intent;
    this.#options.onIntent(intent);
  }

  /** Does one clean-up now; never twice, and never throws (EPI-E2-005). */
  async release(id: string): Promise<void> {
    const entry = this.#entries.find((known) => known.id === id);
    if (entry !== undefined) await this.#release(entry);
  }

  /** Does what is left, last registered first (EPI-E2-001). */
  async releaseAll(): Promise<void> {
    for (const entry of this.#entries.toReversed()) await this.#release(entry);
  }

  #release(entry: Entry): Promise<void> {
    entry.done ??= this.#bounded(entry);
    return entry.done;
  }

  async #bounded(entry: Entry): Promise<void> {
    const { clock, log, onReleased } = this.#options;
    const began = clock.now();
    const failure = await this.#failureOf(entry);
    const ms = clock.now() - began;
    this.#spentMs += ms;
    if (entry.owned === undefined) return;
    const { intent } = entry.owned;
    entry.result = create(CleanUpSchema, {
      resource: intent,
      released: failure === undefined,
      duration: fromMs(ms),
      ...(failure === undefined ? {} : { failure }),
    });
    if (failure !== undefined) return;
    try {
      onReleased(intent);
    } catch (error) {
      logError(log, { what: "release", resource: intent.id }, error);
    }
  }

  /** Does the work within the bound; answers why it was not done, or undefined. */
  async #failureOf({ owned, work }: Entry): Promise<Failure | undefined> {
    const { clock, timeoutMs } = this.#options;
    const over = new AbortController();
    let expire: () => void = () => {};
    const expired = new Promise<never>((_resolve, reject) => {
      expire = () => reject(passed("cleanUpMs", timeoutMs));
    });
    // The call is cut first, so that what it says of itself is what is told.
    const timer = clock.setTimer(timeoutMs, () => {
      over.abort(passed("cleanUpMs", timeoutMs));
      setImmediate(expire);
    });
    const options = {
      signal: over.signal,
      repeat: { attempts: Number.POSITIVE_INFINITY, withinMs: timeoutMs * triesShare },
    };
    try {
      await Promise.race([work(options), expired]);
      return undefined;
    } catch (error) {
      return this.#told(error, owned, over.signal.aborted);
    } finally {
      timer.cancel();
    }
  }

  #told(error: unknown, owned: Owned | undefined, outOfTime: boolean): Failure {
    const lost = outOfTime ? FailureKind.TIMEOUT : FailureKind.UNAVAILABLE;
    const told = owned === undefined ? error : failureOf(error, { boundary: owned.boundary, lost });
    const failure = toFailure(told, {
      stage: Stage.CLEAN_UP,
      ...(owned === undefined ? {} : { agentId: owned.intent.agentId }),
    });
    const bound = `${knobs.cleanUpMs} of ${this.#options.timeoutMs} ms has passed`;
    if (outOfTime && failure.reason !== bound) failure.reason = cutText(`${bound}: ${failure.reason}`, 2000);
    return failure;
  }

  /** A server that could not confirm the release is asked again (R5), as long as the clean-up may take. */
  async #untilConfirmed({ release }: Owned, options: ClientCallOptions): Promise<void> {
    for (;;) {
      const receipt = await release(options);
      if (receipt === undefined || receipt.cleanupConfirmed) return;
      await pause(confirmAgainMs, { clock: this.#options.clock, signal: options.signal }).catch(() => {
        throw unconfirmed(receipt);
      });
    }
  }
}

function unconfirmed({ left }: CloseReceipt): OperationFailure {
  const named = left.map(({ kind, id }) => `${kind} ${id}`).join(", ");
  return new OperationFailure({
    kind: FailureKind.UNAVAILABLE,
    retry: Retry.NEVER,
    reason: cutText(`the server could not confirm the release; left: ${named || "not told"}`, 2000),
  });
}
