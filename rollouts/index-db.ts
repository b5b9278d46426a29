import Database from "libsql";

/** Where an episode of a run stands. */
export type EpisodeState = "planned" | "landed" | "failed";

/** What the index knows of one episode. */
export interface IndexRow {
  readonly rollout_id: string;
  readonly state: EpisodeState;
  /** Attempts that were begun. */
  readonly attempts: number;
}

/**
 * The index of a run: what is planned, how many attempts each episode has begun, what has landed. It only says where
 * to go on; verdicts are in `rollouts.jsonl`, from which it can be made again.
 */
export class RunIndex {
  readonly #db: InstanceType<typeof Database>;

  constructor(path: string) {
    this.#db = new Database(path);
    this.#db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;");
    this.#db.exec(`
      CREATE TABLE IF NOT EXISTS run (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
      CREATE TABLE IF NOT EXISTS episode (
        rollout_id TEXT PRIMARY KEY, state TEXT NOT NULL, attempts INTEGER NOT NULL
      ) WITHOUT ROWID;
    `);
  }

  /** A fact of the run. */
  get(key: string): string | undefined {
    const row = this.#db.prepare("SELECT value FROM run WHERE key = ?").get(key) as
      | { value: string }
      | undefined;
    return row?.value;
  }

  set(key: string, value: string): void {
    this.#db
      .prepare("INSERT INTO run VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value")
      .run(key, value);
  }

  /** Adds episodes that are not there yet. */
  plan(rolloutIds: readonly string[]): void {
    const insert = this.#db.prepare("INSERT OR IGNORE INTO episode VALUES (?, 'planned', 0)");
    this.#db.transaction(() => {
      for (const id of rolloutIds) insert.run(id);
    })();
  }

  /** Every episode. */
  rows(): Map<string, IndexRow> {
    const rows = this.#db.prepare("SELECT rollout_id, state, attempts FROM episode").all() as IndexRow[];
    return new Map(rows.map((row) => [row.rollout_id, row]));
  }

  /** An attempt begins: its number is used up, whatever becomes of it. */
  begin(rolloutId: string, attempt: number): void {
    this.#db
      .prepare("UPDATE episode SET attempts = max(attempts, ?) WHERE rollout_id = ?")
      .run(attempt + 1, rolloutId);
  }

  /** Episodes that have ended. */
  end(episodes: readonly { readonly rolloutId: string; readonly state: EpisodeState }[]): void {
    const update = this.#db.prepare("UPDATE episode SET state = ? WHERE rollout_id = ?");
    this.#db.transaction(() => {
      for (const { rolloutId, state } of episodes) update.run(state, rolloutId);
    })();
  }

  close(): void {
    this.#db.close();
  }
}
