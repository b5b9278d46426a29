import type { DescField, DescMessage, Message } from "@bufbuild/protobuf";

/** A message inside another one. */
export interface FoundMessage {
  /** Where it is: `task.limits.verify_timeout`, `agents[0].items[1]`. */
  readonly path: string;
  readonly message: Message;
}

/** Finds all messages of some types in a message, those inside found ones too. */
export type FindMessages = (type: DescMessage, message: Message, path?: string) => FoundMessage[];

/** A finder of messages of the given types. It learns once of each type where there may be any, and looks nowhere else. */
export function findMessages(wanted: readonly DescMessage[]): FindMessages {
  const names = new Set(wanted.map(({ typeName }) => typeName));
  const known = new Map<string, readonly Holder[]>();

  /** Fields below which there may be some. */
  function holders(type: DescMessage): readonly Holder[] {
    const found = known.get(type.typeName);
    if (found !== undefined) return found;
    const reachable = type.fields.flatMap((field): Holder[] =>
      field.message !== undefined && leadsTo(field.message, names) ? [{ field, inner: field.message }] : [],
    );
    known.set(type.typeName, reachable);
    return reachable;
  }

  const find: FindMessages = (type, message, path = "") =>
    holders(type).flatMap(({ field, inner }) =>
      valuesOf(field, message).flatMap(([place, value]) => {
        const at = `${path === "" ? "" : `${path}.`}${field.name}${place}`;
        const below = find(inner, value, at);
        return names.has(inner.typeName) ? [{ path: at, message: value }, ...below] : below;
      }),
    );
  return find;
}

interface Holder {
  readonly field: DescField;
  readonly inner: DescMessage;
}

/** Whether a type is wanted, or holds what is; types may recur. */
function leadsTo(type: DescMessage, names: ReadonlySet<string>, seen = new Set<string>()): boolean {
  if (names.has(type.typeName)) return true;
  if (seen.has(type.typeName)) return false;
  seen.add(type.typeName);
  return type.fields.some(({ message }) => message !== undefined && leadsTo(message, names, seen));
}

/** The messages of a field, each with its place in it. */
function valuesOf(field: DescField, message: Message): (readonly [string, Message])[] {
  const fields = message as unknown as Record<string, unknown>;
  if (field.oneof !== undefined) {
    const arm = fields[field.oneof.localName] as { case?: string; value?: Message };
    return arm.case === field.localName && arm.value !== undefined ? [["", arm.value]] : [];
  }
  const value = fields[field.localName];
  if (value === undefined) return [];
  if (field.fieldKind === "list") return (value as Message[]).map((item, i) => [`[${i}]`, item] as const);
  if (field.fieldKind === "map") {
    return Object.entries(value as Record<string, Message>).map(
      ([key, item]) => [`["${key}"]`, item] as const,
    );
  }
  return [["", value as Message]];
}
