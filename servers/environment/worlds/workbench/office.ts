import Database from "libsql";
import { z } from "zod";

export const folders = ["inbox", "done", "archive", "sent"] as const;
export const priorities = ["low", "normal", "high"] as const;
export const statuses = ["open", "closed"] as const;

const id = z.int().min(1);
const text = z.string();

/** What stands in the tables of an office. */
export const officeSchema = z.strictObject({
  mails: z.array(
    z.strictObject({ id, sender: text, recipient: text, subject: text, body: text, folder: z.enum(folders) }),
  ),
  events: z.array(z.strictObject({ id, title: text, day: text, start: text, attendees: text })),
  tickets: z.array(
    z.strictObject({
      id,
      title: text,
      status: z.enum(statuses),
      priority: z.enum(priorities),
      assignee: text,
    }),
  ),
});
export type OfficeContents = z.output<typeof officeSchema>;
export type Table = keyof OfficeContents;
export const tables: readonly Table[] = ["mails", "events", "tickets"];

/** An office: a database in memory. */
export type Office = Database.Database;

/** Opens an office with these contents; who opens it closes it. */
export function openOffice(contents: OfficeContents): Office {
  const office = new Database(":memory:");
  office.exec(`
    CREATE TABLE mails (id INTEGER PRIMARY KEY, sender TEXT, recipient TEXT, subject TEXT, body TEXT, folder TEXT);
    CREATE TABLE events (id INTEGER PRIMARY KEY, title TEXT, day TEXT, start TEXT, attendees TEXT);
    CREATE TABLE tickets (id INTEGER PRIMARY KEY, title TEXT, status TEXT, priority TEXT, assignee TEXT);
  `);
  for (const table of tables) {
    for (const row of contents[table]) {
      const columns = Object.keys(row);
      office
        .prepare(`INSERT INTO ${table} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`)
        .run(...Object.values(row));
    }
  }
  return office;
}

/** All that stands in an office. */
export function contentsOf(office: Office): OfficeContents {
  const rows = (table: Table): unknown => office.prepare(`SELECT * FROM ${table} ORDER BY id`).all();
  return officeSchema.parse(Object.fromEntries(tables.map((table) => [table, rows(table)])));
}

/** What of an office is compared: rows without their numbers, and without the words of mails that were sent. */
export type Facts = Readonly<Record<Table, readonly string[]>>;

const compared: Readonly<Record<Table, string>> = {
  mails: "sender, recipient, subject, folder",
  events: "title, day, start, attendees",
  tickets: "title, status, priority, assignee",
};

export function factsOf(office: Office): Facts {
  const rows = (table: Table): string[] =>
    office
      .prepare(`SELECT ${compared[table]} FROM ${table}`)
      .all()
      .map((row) => JSON.stringify(row));
  return { mails: rows("mails"), events: rows("events"), tickets: rows("tickets") };
}

/** Rows of each table that are in one of the two offices only. */
export function differences(one: Facts, other: Facts): Readonly<Record<Table, number>> {
  const differ = (table: Table): number => {
    const balance = new Map<string, number>();
    for (const row of one[table]) balance.set(row, (balance.get(row) ?? 0) + 1);
    for (const row of other[table]) balance.set(row, (balance.get(row) ?? 0) - 1);
    return [...balance.values()].reduce((sum, count) => sum + Math.abs(count), 0);
  };
  return { mails: differ("mails"), events: differ("events"), tickets: differ("tickets") };
}
