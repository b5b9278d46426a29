import Database from "libsql";

/**
 * Opens a SQLite file that is this process's alone from here to its end, makes what it lacks of `tables`, and answers what
 * `prepare` makes of it. Throws where another process has it open (SQLITE_BUSY), it is no database (SQLITE_NOTADB), or
 * `prepare` throws; nothing is held then.
 */
export function openExclusively<T>(
  path: string,
  tables: string,
  prepare: (database: Database.Database) => T,
): T {
  const database = new Database(path);
  try {
    database.exec("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;");
    database.exec(`${tables} BEGIN IMMEDIATE; COMMIT;`);
    return prepare(database);
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * Closes it, its log merged into its file. `table` is one that it has. Where there is no room to merge (a full disk) the log
 * stays beside the file, which is as good: whoever opens it next reads both.
 */
export function closeExclusively(database: Database.Database, table: string): void {
  try {
    // The driver keeps the file open until its statements are collected; the lock must not last as long.
    database.exec(
      `PRAGMA journal_mode = DELETE; PRAGMA locking_mode = NORMAL; SELECT count(*) FROM ${table};`,
    );
  } catch (error) {
    if (sqliteCode(error) !== "SQLITE_FULL") throw error;
  } finally {
    database.close();
  }
}

/** The code of an error of SQLite, such as `SQLITE_BUSY`; undefined: it is none. */
export function sqliteCode(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}
