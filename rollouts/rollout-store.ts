import { join } from "node:path";
import { ConfigError } from "../servers/composition/config-error.js";
import type { Clock } from "../servers/runtime/clock.js";
import type { Logger } from "../servers/runtime/log.js";
import { catchUp } from "./catch-up.js";
import { JsonlWriter } from "./jsonl-writer.js";
import { type FailureRecord, type RolloutRecord, scoredReward } from "./rollout-record.js";
import { makeFolder, runFiles } from "./run-folder.js";
import { type EndedEpisode, type EpisodeState, type IndexRow, RunIndex } from "./run-index.js";

/** Records that are written before they are made safe together. */
const groupSize = 32;
/** Milliseconds after which a smaller group is made safe. */
const groupMs = 100;

/** What a store is opened with. */
export interface RolloutStoreOptions {
  readonly folder: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * The folder of a run while it runs. `rollouts.jsonl` is the truth: verdicts, each once. `failures.jsonl` holds each
 * failed attempt, `index.sqlite` where to go on. Records are made safe in groups; only then the index tells of them,
 * so that what it says is never more than what the files hold.
 */
export class RolloutStore {
  readonly folder: string;
  readonly #index: RunIndex;
  readonly #rollouts: JsonlWriter;
  readonly #failures: JsonlWriter;
  readonly #clock: Clock;
  readonly #openedAt: number;
  readonly #elapsedBefore: number;
  /** Rollouts that have a verdict. */
  readonly #landed: Set<string>;
  readonly #broken = new AbortController();
  #group: EndedEpisode[] = [];
  #groupSafe = newSignal();
  #timer: NodeJS.Timeout | undefined;
  #syncing: Promise<void> = Promise.resolve();

  /** Opens a folder, making it where it is missing. Throws ConfigError where it is in use or damaged. */
  constructor({ folder, clock, log }: RolloutStoreOptions) {
    makeFolder(folder);
    this.folder = folder;
    this.#clock = clock;
    this.#openedAt = clock.now();
    this.#index = new RunIndex(join(folder, runFiles.index));
    const opened: JsonlWriter[] = [];
    const open = (name: string): JsonlWriter => {
      const file = openFile(join(folder, name), log);
      opened.push(file);
      return file;
    };
    try {
      this.#elapsedBefore = Number(this.#index.get("elapsed_ms") ?? 0);
      this.#rollouts = open(runFiles.rollouts);
      this.#failures = open(runFiles.failures);
      this.#landed = catchUp(this.#index, { rollouts: this.#rollouts, failures: this.#failures });
    } catch (error) {
      for (const file of opened) file.close();
      this.#index.close();
      throw error;
    }
  }

  /** Aborts, with the error as reason, when a file could not be written: nothing more is stored then. */
  get broken(): AbortSignal {
    return this.#broken.signal;
  }

  /** The id of the run that the folder holds, if it holds one. */
  get runId(): string | undefined {
    return this.#index.get("run_id");
  }

  /** What the run was begun with. */
  get identity(): string | undefined {
    return this.#index.get("identity");
  }

  /** When the run was begun first. */
  get startedAt(): string | undefined {
    return this.#index.get("started_at");
  }

  /** Milliseconds that the run has been worked on, all its parts together (field-case-102). */
  get elapsedMs(): number {
    return this.#elapsedBefore + (this.#clock.now() - this.#openedAt);
  }

  /** Begins a run, or goes on with one. */
  begin(run: {
    readonly runId: string;
    readonly identity: string;
    readonly rolloutIds: readonly string[];
  }): void {
    this.#index.set({
      run_id: run.runId,
      identity: run.identity,
      started_at: this.startedAt ?? this.#clock.date().toISOString(),
    });
    this.#index.plan(run.rolloutIds);
  }

  /** Where each episode stands. */
  rows(): ReadonlyMap<string, IndexRow> {
    return this.#index.rows();
  }

  /** An attempt begins. */
  attempt(rolloutId: string, attempt: number): void {
    this.#guarded(() => this.#index.begin(rolloutId, attempt));
  }

  /** Lands a verdict; resolves when it is safe. A second one of the same rollout is refused (field-case-096). */
  land(record: RolloutRecord): Promise<void> {
    const { rollout_id: rolloutId } = record;
    if (this.#landed.has(rolloutId)) {
      throw new Error(`rollout ${rolloutId} has a verdict already; a second one is refused`);
    }
    this.#landed.add(rolloutId);
    this.#guarded(() => this.#rollouts.append(record));
    return this.#soonSafe({ rolloutId, state: "landed", reward: scoredReward(record) });
  }

  /** Files a failed attempt, with where its episode stands now; resolves when it is safe. */
  fail(record: FailureRecord, state: EpisodeState): Promise<void> {
    this.#guarded(() => this.#failures.append(record));
    return this.#soonSafe({ rolloutId: record.rollout_id, state, reward: null });
  }

  /** Makes everything safe that was written. Does not throw: see {@link broken}. */
  async sync(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#syncing = this.#syncing.then(() => this.#syncGroup());
    await this.#syncing;
  }

  async close(): Promise<void> {
    await this.sync();
    this.#rollouts.close();
    this.#failures.close();
    this.#index.close();
  }

  async #syncGroup(): Promise<void> {
    const group = this.#group;
    const safe = this.#groupSafe;
    this.#group = [];
    this.#groupSafe = newSignal();
    const bytes = { rollouts_bytes: `${this.#rollouts.size}`, failures_bytes: `${this.#failures.size}` };
    try {
      if (this.#broken.signal.aborted) return;
      await this.#rollouts.sync();
      await this.#failures.sync();
      this.#index.end(group, { ...bytes, elapsed_ms: `${this.elapsedMs}` });
      safe.resolve();
    } catch (error) {
      this.#broken.abort(error);
    }
  }

  #soonSafe(ended: EndedEpisode): Promise<void> {
    this.#group.push(ended);
    const { promise } = this.#groupSafe;
    if (this.#group.length >= groupSize) void this.sync();
    else this.#timer ??= setTimeout(() => void this.sync(), groupMs);
    return promise;
  }

  /** What cannot be written ends the run: its result would be lost, and a half line must stay the last one. */
  #guarded(write: () => unknown): void {
    this.#broken.signal.throwIfAborted();
    try {
      write();
    } catch (error) {
      this.#broken.abort(error);
      throw error;
    }
  }
}

function openFile(path: string, log: Logger): JsonlWriter {
  let file: JsonlWriter;
  try {
    file = new JsonlWriter(path);
  } catch (error) {
    throw new ConfigError([
      `${path}: cannot be opened: ${error instanceof Error ? error.message : String(error)}`,
    ]);
  }
  if (file.torn > 0) log.warn({ file: path, bytes: file.torn }, "cut off a torn last line");
  return file;
}

function newSignal(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve: () => void = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
