import { closeSync, openSync } from "node:fs";
import { type DescMessage, fromBinary, type MessageShape, toBinary } from "@bufbuild/protobuf";
import type Database from "libsql";
import {
  type EpisodeEvent,
  EpisodeEventSchema,
  type EpisodeOutcome,
  EpisodeOutcomeSchema,
  type ReadTrajectoryResponse,
  ReadTrajectoryResponseSchema,
  type RunRequest,
  RunRequestSchema,
} from "../../gen/index.js";
import type { Clock } from "../runtime/clock.js";
import { closeExclusively, openExclusively, sqliteCode } from "../runtime/exclusive-database.js";
import { newInstanceId } from "../runtime/instance.js";
import type { EpisodeJournal } from "./episode-journal.js";

const tables = `
  CREATE TABLE IF NOT EXISTS server (fact TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS episode (
    place INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, request TEXT, ended_at REAL,
    acked INTEGER NOT NULL DEFAULT 0, scored TEXT
  );
  CREATE TABLE IF NOT EXISTS event (
    key TEXT NOT NULL, sequence INTEGER NOT NULL, event TEXT NOT NULL, PRIMARY KEY (key, sequence)
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS trajectory (
    key TEXT NOT NULL, sequence INTEGER NOT NULL, record TEXT NOT NULL, PRIMARY KEY (key, sequence)
  ) WITHOUT ROWID;
`;

/** Layout of the file; another one is not read. */
const layout = "1";

/** An episode as it was written down. */
export interface StoredEpisode {
  readonly key: string;
  /** Absent: its outcome is no longer kept, and only its name is. */
  readonly content: StoredContent | undefined;
}

/** What is kept of an episode whose outcome is. */
export interface StoredContent {
  readonly request: RunRequest;
  /** Time of day at which it ended, in milliseconds; undefined: it had not when its server went. */
  readonly endedAt: number | undefined;
  readonly acked: boolean;
  /** The outcome without clean-ups, where it had its score when its server went. */
  readonly scored: EpisodeOutcome | undefined;
  readonly events: readonly EpisodeEvent[];
  readonly trajectory: readonly ReadTrajectoryResponse[];
}

interface EpisodeRow {
  readonly key: string;
  readonly request: string | null;
  readonly endedAt: number | null;
  readonly acked: number;
  readonly scored: string | null;
}

/**
 * The episodes of a server in a SQLite file, so that they outlive its process (feature DURABLE): each write is in the
 * file before it returns. Where it cannot be (a full disk) the episodes go on without, and what they could not write is
 * written with what matters most of theirs, once it can be. While it is open the file is this process's alone.
 */
export class EpisodeStore implements Disposable {
  /** The server's instance, for as long as the file is. */
  readonly instanceId: string;
  readonly #db: Database.Database;
  readonly #clock: Clock;
  readonly #statements: Statements;
  #closed = false;
  #faulty = false;
  #onFault: (error: unknown) => void = () => {};

  /** Opens the file, making it where it is missing. Throws where another server has it open, or it is none of ours. */
  constructor(path: string, clock: Clock) {
    this.#clock = clock;
    // It holds tasks whole, their privileged parts too.
    closeSync(openSync(path, "a", 0o600));
    try {
      [this.#db, this.instanceId, this.#statements] = openExclusively(path, tables, (database) => {
        if (fact(database, "layout", layout) !== layout) throw new Error("was written by another version");
        return [database, fact(database, "instance_id", newInstanceId()), prepare(database)] as const;
      });
    } catch (error) {
      throw new Error(`${path}: ${whyNot(error)}`);
    }
  }

  /** Everything that was written down, oldest first. */
  *episodes(): Generator<StoredEpisode> {
    const rows = this.#db
      .prepare("SELECT key, request, ended_at AS endedAt, acked, scored FROM episode ORDER BY place")
      .all() as EpisodeRow[];
    for (const row of rows) yield { key: row.key, content: this.#content(row) };
  }

  /** Tells of the first write that is not possible, and again when one had been possible since. */
  whenFaulty(onFault: (error: unknown) => void): void {
    this.#onFault = onFault;
  }

  /** An episode begins; answers what it writes down from now on. */
  begin(key: string, request: RunRequest): EpisodeJournal {
    const text = packed(RunRequestSchema, request);
    const begin: Write = ({ begin }) => begin.run(key, text);
    return this.#journal(key, this.#write(begin) ? [] : [begin]);
  }

  /** Where an episode that has begun writes on. */
  journal(key: string): EpisodeJournal {
    return this.#journal(key, []);
  }

  /** `behind` is what could not be written yet, in order: a file with gaps would tell another episode. */
  #journal(key: string, behind: Write[]): EpisodeJournal {
    const write = (work: Write): void => {
      if (behind.length > 0 || !this.#write(work)) behind.push(work);
    };
    /** Writes that are in the file all or none, with all that is behind. */
    const whole = (...works: readonly Write[]): void => {
      behind.push(...works);
      if (this.#whole(behind)) behind.length = 0;
    };
    const event = (told: EpisodeEvent): Write => {
      const text = packed(EpisodeEventSchema, told);
      return (statements) => statements.event.run(key, Number(told.sequence), text);
    };
    return {
      event: (told) => write(event(told)),
      recorded(record) {
        const text = packed(ReadTrajectoryResponseSchema, record);
        write(({ recorded }) => recorded.run(key, Number(record.sequence), text));
      },
      scored(outcome) {
        const text = packed(EpisodeOutcomeSchema, outcome());
        whole(({ scored }) => scored.run(text, key));
      },
      ended: (last) => {
        const at = this.#clock.date().getTime();
        whole(event(last), ({ ended }) => ended.run(at, key));
      },
      acked: () =>
        whole(
          ({ acked }) => acked.run(key),
          ({ dropTrajectory }) => dropTrajectory.run(key),
        ),
    };
  }

  /** Lets the outcome of an episode go; its name stays. */
  expire(key: string): void {
    this.#whole([
      ({ expire }) => expire.run(key),
      ({ dropEvents }) => dropEvents.run(key),
      ({ dropTrajectory }) => dropTrajectory.run(key),
    ]);
  }

  /** Lets a name go. */
  forget(key: string): void {
    this.#write(({ forget }) => forget.run(key));
  }

  /** Closes the file, its log merged into it; what is written afterwards is lost. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    closeExclusively(this.#db, "server");
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #content({ key, request, endedAt, acked, scored }: EpisodeRow): StoredContent | undefined {
    if (request === null) return undefined;
    const { events, trajectory } = this.#statements;
    return {
      request: unpacked(RunRequestSchema, request),
      endedAt: endedAt ?? undefined,
      acked: acked === 1,
      scored: scored === null ? undefined : unpacked(EpisodeOutcomeSchema, scored),
      events: texts(events.all(key)).map((text) => unpacked(EpisodeEventSchema, text)),
      trajectory: texts(trajectory.all(key)).map((text) => unpacked(ReadTrajectoryResponseSchema, text)),
    };
  }

  /** Answers whether it is written; never throws. */
  #write(work: Write): boolean {
    return this.#attempt(() => work(this.#statements));
  }

  /** The same of writes that are in the file all or none. */
  #whole(works: readonly Write[]): boolean {
    return this.#attempt(() => {
      this.#db.exec("BEGIN");
      try {
        for (const work of works) work(this.#statements);
        this.#db.exec("COMMIT");
      } catch (error) {
        // A full disk has rolled it back by itself; the driver's own transaction would tell that instead.
        if (this.#db.inTransaction) this.#db.exec("ROLLBACK");
        throw error;
      }
    });
  }

  #attempt(write: () => void): boolean {
    if (this.#closed) return true;
    try {
      write();
      this.#faulty = false;
      return true;
    } catch (error) {
      if (!this.#faulty) this.#onFault(error);
      this.#faulty = true;
      return false;
    }
  }
}

/** Something that is to be written. */
type Write = (statements: Statements) => void;

type Statements = ReturnType<typeof prepare>;

function prepare(db: Database.Database) {
  return {
    begin: db.prepare("INSERT INTO episode (key, request) VALUES (?, ?)"),
    event: db.prepare("INSERT INTO event VALUES (?, ?, ?)"),
    recorded: db.prepare("INSERT INTO trajectory VALUES (?, ?, ?)"),
    scored: db.prepare("UPDATE episode SET scored = ? WHERE key = ?"),
    ended: db.prepare("UPDATE episode SET ended_at = ?, scored = NULL WHERE key = ?"),
    acked: db.prepare("UPDATE episode SET acked = 1 WHERE key = ?"),
    expire: db.prepare("UPDATE episode SET request = NULL, scored = NULL WHERE key = ?"),
    forget: db.prepare("DELETE FROM episode WHERE key = ?"),
    dropEvents: db.prepare("DELETE FROM event WHERE key = ?"),
    dropTrajectory: db.prepare("DELETE FROM trajectory WHERE key = ?"),
    events: db.prepare("SELECT event AS text FROM event WHERE key = ? ORDER BY sequence"),
    trajectory: db.prepare("SELECT record AS text FROM trajectory WHERE key = ? ORDER BY sequence"),
  };
}

/** A fact of the server, written down where there is none yet. */
function fact(database: Database.Database, name: string, value: string): string {
  database.prepare("INSERT OR IGNORE INTO server VALUES (?, ?)").run(name, value);
  const row = database.prepare("SELECT value FROM server WHERE fact = ?").get(name);
  return (row as { readonly value: string }).value;
}

function texts(rows: unknown[]): string[] {
  return (rows as { readonly text: string }[]).map(({ text }) => text);
}

/** A message as text: libsql aborts the process on some blobs. */
function packed<D extends DescMessage>(schema: D, message: MessageShape<D>): string {
  return Buffer.from(toBinary(schema, message)).toString("base64");
}

function unpacked<D extends DescMessage>(schema: D, text: string): MessageShape<D> {
  return fromBinary(schema, Buffer.from(text, "base64"));
}

function whyNot(error: unknown): string {
  const code = sqliteCode(error);
  if (code === "SQLITE_BUSY") return "another server keeps its records here; give each a file of its own";
  if (code === "SQLITE_NOTADB" || code === "SQLITE_CORRUPT")
    return "expected records of an episode server, found something else; choose another file";
  return error instanceof Error ? error.message : String(error);
}
