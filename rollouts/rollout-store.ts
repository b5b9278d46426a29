import { existsSync, mkdirSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ConfigError } from "../servers/composition/config-error.js";
import { type EpisodeState, RunIndex } from "./index-db.js";
import { JsonlFile, readJsonl } from "./jsonl-file.js";
import type { Plan } from "./plan.js";
import type { FailureRecord, RolloutRecord } from "./rollout-record.js";

/** Files of a run, in its folder. */
const runFiles = [
  "rollouts.jsonl",
  "failures.jsonl",
  "index.sqlite",
  "index.sqlite-wal",
  "index.sqlite-shm",
  "metrics.json",
  "config.yaml",
];

/** Records that are written before they are made safe together. */
const groupSize = 32;
/** Milliseconds after which a smaller group is made safe. */
const groupMs = 100;

/** What is already known of a run that goes on. */
export interface Progress {
  readonly runId: string;
  /** Attempts that were begun, by rollout_id. */
  readonly attempts: ReadonlyMap<string, number>;
  /** Episodes that need nothing more: a verdict is there, or they failed for good. */
  readonly ended: ReadonlySet<string>;
}

/** Whether a folder holds a run. */
export function holdsRun(folder: string): boolean {
  return existsSync(join(folder, "index.sqlite")) || existsSync(join(folder, "rollouts.jsonl"));
}

/** Sets an earlier run's files apart, so that nothing of it shows in a fresh one (field-case-092). */
export function setApart(folder: string): void {
  const earlier = join(folder, "earlier");
  mkdirSync(earlier, { recursive: true });
  const target = join(earlier, String(readdirSync(earlier).length + 1));
  mkdirSync(target);
  for (const file of runFiles)
    if (existsSync(join(folder, file))) renameSync(join(folder, file), join(target, file));
}

/**
 * The folder of a run. `rollouts.jsonl` is the truth: verdicts, each once. `failures.jsonl` holds each failed attempt,
 * `index.sqlite` where to go on. Verdicts are made safe in groups; only then the index tells of them.
 */
export class RolloutStore {
  readonly #rollouts: JsonlFile;
  readonly #failures: JsonlFile;
  readonly #index: RunIndex;
  readonly #landed = new Set<string>();
  #group: { rolloutId: string; state: EpisodeState }[] = [];
  #timer: NodeJS.Timeout | undefined;
  #syncing: Promise<void> = Promise.resolve();

  constructor(readonly folder: string) {
    mkdirSync(folder, { recursive: true });
    this.#rollouts = new JsonlFile(join(folder, "rollouts.jsonl"));
    this.#failures = new JsonlFile(join(folder, "failures.jsonl"));
    this.#index = new RunIndex(join(folder, "index.sqlite"));
  }

  /** The id of the run that the folder holds, if it holds one. */
  get runId(): string | undefined {
    return this.#index.get("run_id");
  }

  /** Begins a run, or goes on with one. Throws ConfigError where the plan is not the one that was begun. */
  begin(plan: Plan): Progress {
    const digest = this.#index.get("plan");
    if (digest !== undefined && digest !== plan.digest) {
      throw new ConfigError([
        `${this.folder}: the run there has other tasks or repeats; resume it with the same, or choose another --out`,
      ]);
    }
    this.#index.set("plan", plan.digest);
    this.#index.set("run_id", plan.runId);
    this.#index.plan(plan.episodes.map(({ rolloutId }) => rolloutId));
    // What the file has and the index lacks was written before a crash: the file is the truth.
    for (const { rollout_id: id } of readJsonl<RolloutRecord>(join(this.folder, "rollouts.jsonl")))
      this.#landed.add(id);
    this.#index.end([...this.#landed].map((rolloutId) => ({ rolloutId, state: "landed" })));
    const rows = this.#index.rows();
    const ended = [...rows.values()].filter(({ state }) => state !== "planned");
    return {
      runId: plan.runId,
      attempts: new Map([...rows.values()].map((row) => [row.rollout_id, row.attempts])),
      ended: new Set(ended.map(({ rollout_id: id }) => id)),
    };
  }

  /** An attempt begins. */
  attempt(rolloutId: string, attempt: number): void {
    this.#index.begin(rolloutId, attempt);
  }

  /** Lands a verdict. A second one of the same rollout is refused (field-case-096). */
  land(record: RolloutRecord): void {
    if (this.#landed.has(record.rollout_id)) {
      throw new Error(`rollout ${record.rollout_id} has a verdict already; a second one is refused`);
    }
    this.#landed.add(record.rollout_id);
    this.#rollouts.append(record);
    this.#group.push({ rolloutId: record.rollout_id, state: "landed" });
    this.#syncSoon();
  }

  /** Files a failed attempt. */
  fail(record: FailureRecord): void {
    this.#failures.append(record);
    if (record.final) this.#group.push({ rolloutId: record.rollout_id, state: "failed" });
    this.#syncSoon();
  }

  /** Writes a file of the run's folder whole. */
  write(name: string, text: string): void {
    const path = join(this.folder, name);
    writeFileSync(`${path}.new`, text);
    renameSync(`${path}.new`, path);
  }

  /** Every verdict and every failed attempt that the files hold. */
  read(): { rollouts: RolloutRecord[]; failures: FailureRecord[] } {
    return {
      rollouts: readJsonl<RolloutRecord>(join(this.folder, "rollouts.jsonl")),
      failures: readJsonl<FailureRecord>(join(this.folder, "failures.jsonl")),
    };
  }

  /** Makes everything safe that was written. */
  async sync(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#syncing = this.#syncing.then(async () => {
      const group = this.#group;
      this.#group = [];
      await this.#rollouts.sync();
      await this.#failures.sync();
      if (group.length > 0) this.#index.end(group);
    });
    await this.#syncing;
  }

  async close(): Promise<void> {
    await this.sync();
    this.#rollouts.close();
    this.#failures.close();
    this.#index.close();
  }

  #syncSoon(): void {
    if (this.#group.length >= groupSize) void this.sync();
    else this.#timer ??= setTimeout(() => void this.sync(), groupMs);
  }
}
