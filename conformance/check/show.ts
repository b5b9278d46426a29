import { isMessage, type Message } from "@bufbuild/protobuf";

const shownCharacters = 600;

/** A value in one line for people: messages and objects as JSON, bigint and bytes readable, cut where long. */
export function show(value: unknown): string {
  if (value === undefined) return "nothing";
  const text =
    typeof value === "string"
      ? JSON.stringify(value)
      : typeof value === "bigint" || typeof value === "number"
        ? String(value)
        : (JSON.stringify(value, readable) ?? String(value));
  return text.length > shownCharacters
    ? `${text.slice(0, shownCharacters)}... (${text.length} characters)`
    : text;
}

function readable(key: string, value: unknown): unknown {
  if (key === "$typeName" || key === "$unknown") return undefined;
  if (typeof value === "bigint") return String(value);
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  if (value instanceof Uint8Array) return `${value.byteLength} bytes`;
  return value;
}

/** A message without the fields that this suite does not know: what counts in equality (R2). */
export function known<T>(value: T): T {
  if (Array.isArray(value)) return value.map(known) as T;
  // One library gives Buffers, the other plain arrays of bytes.
  if (value instanceof Uint8Array) return Uint8Array.from(value) as T;
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value as Message & Record<string, unknown>);
  return Object.fromEntries(
    entries.filter(([key]) => key !== "$unknown" || !isMessage(value)).map(([key, one]) => [key, known(one)]),
  ) as T;
}
