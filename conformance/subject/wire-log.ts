import { type DescMessage, type Message, toJsonString } from "@bufbuild/protobuf";

/** One thing seen on a connection. */
export interface WireEvent {
  /** Milliseconds since the run began. */
  readonly at: number;
  /** Connection that it was seen on, numbered within the check. */
  readonly connection: number;
  /** Call that it belongs to, `EnvironmentService.Seed#3`; empty: the connection. */
  readonly call: string;
  /** What it was. */
  readonly kind: "request" | "headers" | "message" | "end" | "note";
  /** Its content as text, secrets taken out, cut where it is long. */
  readonly text: string;
}

const eventsKept = 60;
const textKept = 2_000;

/** What a check did on the wire: the newest events, for the report of a check that fails. */
export interface WireLog {
  /** Adds an event. */
  add(event: Omit<WireEvent, "at">): void;
  /** Adds a message as ProtoJSON. */
  message(event: Omit<WireEvent, "at" | "text">, schema: DescMessage, message: Message): void;
  /** Oldest first. */
  readonly events: readonly WireEvent[];
}

/** Milliseconds since an origin. */
export type Elapsed = () => number;

/** A bounded log that shows none of the `secrets`. Text is made when the log is read, which is when a check failed. */
export function wireLog(elapsed: Elapsed, secrets: readonly string[]): WireLog {
  const events: { readonly event: Omit<WireEvent, "text">; readonly text: () => string }[] = [];
  const hidden = secrets.filter((secret) => secret !== "");
  const clean = (text: string): string => {
    const shown = hidden.reduce((rest, secret) => rest.replaceAll(secret, "[secret]"), text);
    return shown.length > textKept ? `${shown.slice(0, textKept)}... (${shown.length} characters)` : shown;
  };
  const keep = (event: Omit<WireEvent, "at" | "text">, text: () => string): void => {
    events.push({ event: { ...event, at: elapsed() }, text });
    if (events.length > eventsKept) events.shift();
  };
  return {
    add: ({ text, ...event }) => keep(event, () => text),
    message: (event, schema, message) => keep(event, () => messageText(schema, message)),
    get events() {
      return events.map(({ event, text }) => ({ ...event, text: clean(text()) }));
    },
  };
}

/** ProtoJSON, or what hinders it: a subject may send what JSON cannot say. */
export function messageText(schema: DescMessage, message: Message): string {
  try {
    return toJsonString(schema, message);
  } catch (error) {
    return `(not JSON: ${error instanceof Error ? error.message : String(error)})`;
  }
}
