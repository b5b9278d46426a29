import type Database from "libsql";
import { ConfigError } from "../servers/composition/config-error.js";
import { closeExclusively, openExclusively, sqliteCode } from "../servers/runtime/exclusive-database.js";

/**
 * Where an episode of a run stands: to be begun; begun; its verdict is stored; its failure is final; its attempts were
 * used up, though its failure says that another one may help.
 */
export type EpisodeState = "planned" | "running" | "landed" | "failed" | "exhausted";

/** What the index knows of one episode. */
export interface IndexRow {
  readonly rolloutId: string;
  readonly state: EpisodeState;
  /** Attempts that were begun. */
  readonly attempts: number;
  /** Reward of a verdict that counts; else null. */
  readonly reward: number | null;
}

/** How an episode has ended, for the index. */
export interface EndedEpisode {
  readonly rolloutId: string;
  readonly state: EpisodeState;
  readonly reward: number | null;
}

/** Facts of a run beside its episodes. */
export type RunFact =
  | "run_id"
  | "identity"
  | "elapsed_ms"
  | "started_at"
  | "rollouts_bytes"
  | "failures_bytes";

const tables = `
  CREATE TABLE IF NOT EXISTS run (fact TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS episode (
    rollout_id TEXT PRIMARY KEY, state TEXT NOT NULL, attempts INTEGER NOT NULL, reward REAL
  ) WITHOUT ROWID;
`;

/**
 * The index of a run: what is planned, how many attempts each episode has begun, what has landed. It only says where
 * to go on; verdicts are in `rollouts.jsonl`, from which it can be made again. While it is open the run is this
 * process's alone.
 */
export class RunIndex {
  readonly #db: Database.Database;
  readonly #begin: Database.Statement<[number, string]>;

  /** Opens the index, making it where it is missing. Throws ConfigError where another run has it open, or it is none. */
  constructor(path: string) {
    // Two runs in one folder would mix their verdicts.
    try {
      [this.#db, this.#begin] = openExclusively(path, tables, (database) => [
        database,
        database.prepare(
          "UPDATE episode SET state = 'running', attempts = max(attempts, ?) WHERE rollout_id = ?",
        ),
      ]);
    } catch (error) {
      throw new ConfigError([`${path}: ${whyNot(error)}`]);
    }
  }

  /** A fact of the run. */
  get(fact: RunFact): string | undefined {
    const row = this.#db.prepare("SELECT value FROM run WHERE fact = ?").get(fact) as
      | { value: string }
      | undefined;
    return row?.value;
  }

  /** Sets facts of the run. */
  set(facts: Partial<Record<RunFact, string>>): void {
    this.#db.transaction(() => this.#put(facts))();
  }

  #put(facts: Partial<Record<RunFact, string>>): void {
    const upsert = this.#db.prepare(
      "INSERT INTO run VALUES (?, ?) ON CONFLICT (fact) DO UPDATE SET value = excluded.value",
    );
    for (const [fact, value] of Object.entries(facts)) upsert.run(fact, value);
  }

  /** Adds episodes that are not there yet. */
  plan(rolloutIds: readonly string[]): void {
    const insert = this.#db.prepare("INSERT OR IGNORE INTO episode VALUES (?, 'planned', 0, NULL)");
    this.#db.transaction(() => {
      for (const id of rolloutIds) insert.run(id);
    })();
  }

  /** Every episode. */
  rows(): Map<string, IndexRow> {
    const rows = this.#db
      .prepare("SELECT rollout_id AS rolloutId, state, attempts, reward FROM episode")
      .all() as IndexRow[];
    return new Map(rows.map((row) => [row.rolloutId, row]));
  }

  /** An attempt begins: its number is used up, whatever becomes of it. */
  begin(rolloutId: string, attempt: number): void {
    this.#begin.run(attempt + 1, rolloutId);
  }

  /** Episodes that have ended, and what is safe of the files that tell of them. */
  end(episodes: readonly EndedEpisode[], facts: Partial<Record<RunFact, string>>): void {
    const update = this.#db.prepare("UPDATE episode SET state = ?, reward = ? WHERE rollout_id = ?");
    this.#db.transaction(() => {
      for (const { rolloutId, state, reward } of episodes) update.run(state, reward, rolloutId);
      this.#put(facts);
    })();
  }

  /** Closes the index, its log merged into its file. */
  close(): void {
    closeExclusively(this.#db, "run");
  }
}

function whyNot(error: unknown): string {
  const code = sqliteCode(error);
  if (code === "SQLITE_BUSY")
    return "another run is using this folder; wait for its end or choose another --out";
  if (code === "SQLITE_NOTADB" || code === "SQLITE_CORRUPT") {
    return "is no index of a run; delete it, and --resume makes it again from rollouts.jsonl";
  }
  return error instanceof Error ? error.message : String(error);
}
