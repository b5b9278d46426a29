import { warmSeconds } from "./task.js";

/** What a load process tells at its end. */
export interface Counted {
  readonly p50_us: number | null;
  readonly p99_us: number | null;
  readonly sessions: number;
  /** All that was done since the ready line, the warm-up included. */
  readonly total: number;
}

/** Counts what ends between the end of the warm-up and the end of the run, whenever it began. */
export class Meter {
  readonly #start: number;
  readonly #stop: number;
  readonly #seconds: number;
  #latencies = new Float64Array(1 << 16);
  #count = 0;
  #total = 0;

  constructor(seconds: number) {
    this.#seconds = seconds;
    this.#start = performance.now() + warmSeconds * 1000;
    this.#stop = this.#start + seconds * 1000;
  }

  /** The time now, or undefined when the run is over. */
  begin(): number | undefined {
    const now = performance.now();
    return now < this.#stop ? now : undefined;
  }

  /** Something that was begun at this time is done. */
  add(begun: number): void {
    const now = performance.now();
    this.#total += 1;
    if (now < this.#start || now > this.#stop) return;
    if (this.#count === this.#latencies.length) {
      const more = new Float64Array(this.#count * 2);
      more.set(this.#latencies);
      this.#latencies = more;
    }
    this.#latencies[this.#count] = now - begun;
    this.#count += 1;
  }

  /** Done each second. */
  get rate(): number {
    return Math.round((this.#count / this.#seconds) * 10) / 10;
  }

  counted(sessions: number): Counted {
    const sorted = this.#latencies.subarray(0, this.#count).sort();
    const at = (quantile: number): number | null => {
      const found = sorted[Math.floor(sorted.length * quantile)];
      return found === undefined ? null : Math.round(found * 1000);
    };
    return { p50_us: at(0.5), p99_us: at(0.99), sessions, total: this.#total };
  }
}
