import { z } from "zod";
import { ToolError, toolsOf } from "../../../index.js";
import { folders, type Office, priorities, statuses } from "./office.js";

/** Whose office it is. */
export const owner = "me@office.example";

/** What tools work in. */
export interface Desk {
  readonly office: Office;
}

const tool = toolsOf<Desk>();

const number = z.int().min(1);
const line = z.string().min(1).max(200);
const day = z
  .string()
  .regex(/^\d{4}-\d\d-\d\d$/)
  .describe("For example 2030-05-14.");
const start = z
  .string()
  .regex(/^\d\d:\d\d$/)
  .describe("For example 09:30.");

/** Changes a row. Throws ToolError where there is none of the number. */
function change(office: Office, what: string, sql: string, ...values: unknown[]): string {
  const { changes } = office.prepare(sql).run(...values);
  if (changes === 0) throw new ToolError(`there is no ${what} ${String(values.at(-1))}`);
  return "Done.";
}

/** Finds rows. */
function find(office: Office, sql: string, ...values: unknown[]): object {
  return { found: office.prepare(sql).all(...values) };
}

const like = (text: string): string => `%${text.replaceAll(/[%_\\]/g, "\\$&")}%`;

export const tools = {
  search_mail: tool({
    description: "Finds mails whose sender, recipient or subject holds a text.",
    input: z.strictObject({ text: z.string().default(""), folder: z.enum(folders).optional() }),
    run: ({ text, folder }, { state: { office } }) =>
      find(
        office,
        `SELECT id, sender, recipient, subject, folder FROM mails
         WHERE sender || ' ' || recipient || ' ' || subject LIKE ? ESCAPE '\\' AND folder = coalesce(?, folder)`,
        like(text),
        folder ?? null,
      ),
  }),
  read_mail: tool({
    description: "Reads a mail.",
    input: z.strictObject({ id: number }),
    run({ id }, { state: { office } }) {
      const mail: unknown = office.prepare("SELECT * FROM mails WHERE id = ?").get(id);
      if (typeof mail !== "object" || mail === null) throw new ToolError(`there is no mail ${id}`);
      return mail;
    },
  }),
  send_mail: tool({
    description: "Sends a mail to one address.",
    input: z.strictObject({ to: line, subject: line, body: z.string().max(5000) }),
    run({ to, subject, body }, { state: { office } }) {
      office
        .prepare("INSERT INTO mails (sender, recipient, subject, body, folder) VALUES (?, ?, ?, ?, 'sent')")
        .run(owner, to, subject, body);
      return "Sent.";
    },
  }),
  move_mail: tool({
    description: "Moves a mail to a folder.",
    input: z.strictObject({ id: number, folder: z.enum(folders) }),
    run: ({ id, folder }, { state: { office } }) =>
      change(office, "mail", "UPDATE mails SET folder = ? WHERE id = ?", folder, id),
  }),
  search_events: tool({
    description: "Finds events of the calendar whose title holds a text.",
    input: z.strictObject({ text: z.string().default("") }),
    run: ({ text }, { state: { office } }) =>
      find(office, "SELECT * FROM events WHERE title LIKE ? ESCAPE '\\'", like(text)),
  }),
  create_event: tool({
    description: "Puts an event into the calendar.",
    input: z.strictObject({ title: line, day, start, attendees: z.array(line).max(20) }),
    run({ title, day, start, attendees }, { state: { office } }) {
      office
        .prepare("INSERT INTO events (title, day, start, attendees) VALUES (?, ?, ?, ?)")
        .run(title, day, start, attendees.join(", "));
      return "Done.";
    },
  }),
  move_event: tool({
    description: "Moves an event of the calendar.",
    input: z.strictObject({ id: number, day, start }),
    run: ({ id, day, start }, { state: { office } }) =>
      change(office, "event", "UPDATE events SET day = ?, start = ? WHERE id = ?", day, start, id),
  }),
  search_tickets: tool({
    description: "Finds tickets whose title or assignee holds a text.",
    input: z.strictObject({ text: z.string().default(""), status: z.enum(statuses).optional() }),
    run: ({ text, status }, { state: { office } }) =>
      find(
        office,
        "SELECT * FROM tickets WHERE title || ' ' || assignee LIKE ? ESCAPE '\\' AND status = coalesce(?, status)",
        like(text),
        status ?? null,
      ),
  }),
  create_ticket: tool({
    description: "Opens a ticket.",
    input: z.strictObject({ title: line, priority: z.enum(priorities), assignee: line }),
    run({ title, priority, assignee }, { state: { office } }) {
      office
        .prepare("INSERT INTO tickets (title, status, priority, assignee) VALUES (?, 'open', ?, ?)")
        .run(title, priority, assignee);
      return "Done.";
    },
  }),
  update_ticket: tool({
    description: "Changes a ticket; what is left out stays.",
    input: z.strictObject({
      id: number,
      status: z.enum(statuses).optional(),
      priority: z.enum(priorities).optional(),
      assignee: line.optional(),
    }),
    run: ({ id, status, priority, assignee }, { state: { office } }) =>
      change(
        office,
        "ticket",
        `UPDATE tickets SET status = coalesce(?, status), priority = coalesce(?, priority),
         assignee = coalesce(?, assignee) WHERE id = ?`,
        status ?? null,
        priority ?? null,
        assignee ?? null,
        id,
      ),
  }),
};
