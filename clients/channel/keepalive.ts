import type { Clock, Timer } from "../clock.js";

/** How a connection is watched. */
export interface KeepaliveOptions {
  readonly clock: Clock;
  /** Silence of the peer, in milliseconds, after which it is pinged. */
  readonly intervalMs: number;
  /** Time that the peer has for its answer, in milliseconds. */
  readonly timeoutMs: number;
  /** Pings in one silence before they become rare. */
  readonly pingsPerSilence: number;
  /** Sends a ping; `answered` is called when its answer comes. */
  ping(answered: () => void): void;
  /** The peer has not answered. */
  dead(): void;
}

/**
 * Distance of the pings in a long silence. Servers in Python, Go and C++ close a connection on the third ping in
 * five minutes without an answer of theirs in between, and with it every call: `too_many_pings`.
 */
const RARE_PING_MS = 305_000;

/**
 * Finds a peer that has vanished without a word (field case 54), while calls are on their way: pings it when it has
 * been silent, and calls it dead when it does not answer.
 */
export class Keepalive {
  readonly #options: KeepaliveOptions;
  #timer: Timer | undefined;
  #running = false;
  #awaitingAnswer = false;
  /** Counts what came from the peer; cheaper than a look at the clock for each piece. */
  #heard = 0;
  #heardAtLook = 0;
  #heardAt: number;
  #pings = 0;

  constructor(options: KeepaliveOptions) {
    this.#options = options;
    this.#heardAt = options.clock.now();
  }

  /** Something came from the peer. */
  heard(): void {
    this.#heard += 1;
  }

  /** Calls are on their way. A connection that has been silent for long is pinged at once. */
  start(): void {
    if (this.#running) return;
    this.#running = true;
    this.#look();
  }

  /** No calls are on their way. */
  stop(): void {
    this.#running = false;
    this.#awaitingAnswer = false;
    this.#timer?.cancel();
    this.#noteHeard();
  }

  #look(): void {
    const { clock, intervalMs, pingsPerSilence } = this.#options;
    this.#noteHeard();
    const gap = this.#pings < pingsPerSilence ? intervalMs : Math.max(intervalMs, RARE_PING_MS);
    const left = this.#heardAt + gap - clock.now();
    if (left > 0) this.#timer = clock.setTimer(left, () => this.#look());
    else this.#ping();
  }

  #ping(): void {
    const { clock, timeoutMs, ping, dead } = this.#options;
    this.#pings += 1;
    this.#awaitingAnswer = true;
    this.#timer = clock.setTimer(timeoutMs, () => {
      this.#awaitingAnswer = false;
      // Whoever sends is not dead, even if its answer to the ping waits behind what it sends.
      if (this.#heard === this.#heardAtLook) dead();
      else this.#look();
    });
    ping(() => {
      if (!this.#awaitingAnswer) return;
      this.#awaitingAnswer = false;
      this.#timer?.cancel();
      // The answer ends the interval, but not the silence: it does not count as something heard.
      this.#heardAt = clock.now();
      this.#look();
    });
  }

  #noteHeard(): void {
    if (this.#heard === this.#heardAtLook) return;
    this.#heardAtLook = this.#heard;
    this.#heardAt = this.#options.clock.now();
    this.#pings = 0;
  }
}
