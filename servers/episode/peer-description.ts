import type { Clock } from "../runtime/clock.js";
import { unlessAborted } from "./unless-aborted.js";

/** Milliseconds within which a peer must say what it is. */
export const describeMs = 10_000;
/** Milliseconds that what a peer said of itself is taken for true. */
const trustedMs = 30_000;

/** How a peer is asked what it is. */
export interface PeerDescriptionOptions<D> {
  readonly clock: Clock;
  /** A connection to it stands. */
  readonly connected: () => boolean;
  /** Asks; tells which instance has answered, where that says it. */
  readonly ask: (
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
    onInstance: (instanceId: string) => void,
  ) => Promise<D>;
}

/** Who asks. */
export interface Asking {
  readonly headers: Readonly<Record<string, string>>;
  /** Aborts when whoever asks has left; others may still wait for the same answer. */
  readonly signal: AbortSignal;
}

/** What a peer says of itself. */
export interface Told<D> {
  readonly said: D;
  /** It was asked just now; false: it said so a while ago. */
  readonly fresh: boolean;
}

interface Known<D> {
  readonly answer: Promise<D>;
  instance: string | undefined;
  /** Until when it is trusted; undefined: it has not been said yet. */
  until: number | undefined;
}

/**
 * What one peer says of itself, asked once for many episodes. It is asked again after a short while, when another
 * instance of it has answered anything, when the connection was lost, and when somebody could not go on with what it
 * had said. That it drains is not looked for here: its refusal says so (R18).
 */
export class PeerDescription<D> {
  #known: Known<D> | undefined;

  constructor(private readonly options: PeerDescriptionOptions<D>) {}

  /** What it is. Throws the error of the call, or the signal's reason. */
  async get({ headers, signal }: Asking): Promise<Told<D>> {
    const old = this.#known;
    if (old?.until !== undefined && this.#holds(old.until)) return { said: await old.answer, fresh: false };
    const known = old !== undefined && old.until === undefined ? old : this.#ask(headers);
    return { said: await unlessAborted(known.answer, signal), fresh: true };
  }

  /** An instance has answered: another one than before may be another implementation. */
  seen(instanceId: string): void {
    const instance = this.#known?.instance;
    if (instance !== undefined && instance !== instanceId) this.forget();
  }

  /** What it said is not trusted any more. */
  forget(): void {
    this.#known = undefined;
  }

  #holds(until: number): boolean {
    return this.options.clock.now() < until && this.options.connected();
  }

  #ask(headers: Asking["headers"]): Known<D> {
    const { clock, ask } = this.options;
    const late = new AbortController();
    const timer = clock.setTimer(describeMs, () => late.abort());
    const known: Known<D> = {
      instance: undefined,
      until: undefined,
      answer: ask(headers, late.signal, (instance) => {
        known.instance = instance;
      }).finally(() => timer.cancel()),
    };
    this.#known = known;
    known.answer.then(
      () => {
        known.until = clock.now() + trustedMs;
      },
      () => {
        if (this.#known === known) this.forget();
      },
    );
    return known;
  }
}
