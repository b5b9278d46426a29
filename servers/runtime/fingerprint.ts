import { createHash } from "node:crypto";
import { type DescMessage, getOption, hasOption, type Message, type MessageShape } from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import { encodeMessage } from "../../clients/channel/encode-message.js";
import { delivery_only } from "../../gen/index.js";

/** What two requests have in common exactly when they are equal (R2). Bytes, one a character: a string is kept and compared at less cost. */
export type Fingerprint = string;

/** Requests up to this many bytes are their own fingerprint, larger ones a digest. */
const inlineBytes = 96;

/** Whether messages of a type can be equal and yet differ on the wire: maps, and fields that do not count. */
const needsCanonicalForm = new WeakMap<DescMessage, boolean>();

/**
 * The fingerprint of a request: its known fields, maps unordered, JSON text unparsed; unknown fields and fields marked
 * `delivery_only` do not count (ALL-REPEAT-007, -014, -015, -017). Metadata never gets here (ALL-REPEAT-006).
 */
export function fingerprint<D extends DescMessage>(schema: D, request: MessageShape<D>): Fingerprint {
  const loose = needsCanonicalForm.get(schema) ?? hasLooseOrder(schema, new Set());
  const message = loose ? canonical(schema, request) : request;
  const bytes = encodeMessage(schema as DescMessage, message, { writeUnknownFields: false });
  return bytes.length <= inlineBytes
    ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1")
    : createHash("sha256").update(bytes).digest().toString("latin1");
}

function hasLooseOrder(schema: DescMessage, above: Set<DescMessage>): boolean {
  const known = needsCanonicalForm.get(schema);
  if (known !== undefined) return known;
  if (above.has(schema)) return false;
  above.add(schema);
  const loose = schema.fields.some(
    (field) =>
      field.fieldKind === "map" ||
      (hasOption(field, delivery_only) && getOption(field, delivery_only)) ||
      (field.message !== undefined && hasLooseOrder(field.message, above)),
  );
  above.delete(schema);
  // A type inside a cycle is only settled once the whole cycle has been seen.
  if (loose || above.size === 0) needsCanonicalForm.set(schema, loose);
  return loose;
}

/** A copy with sorted maps and without fields that do not count. */
function canonical(schema: DescMessage, message: Message): Message {
  const from = reflect(schema, message);
  const to = reflect(schema);
  for (const field of schema.fields) {
    if (!from.isSet(field) || (hasOption(field, delivery_only) && getOption(field, delivery_only))) continue;
    switch (field.fieldKind) {
      case "scalar":
      case "enum":
        to.set(field, from.get(field));
        break;
      case "message":
        to.set(field, canonicalChild(from.get(field)));
        break;
      case "list": {
        const list = to.get(field);
        for (const value of from.get(field))
          list.add(field.listKind === "message" ? canonicalChild(value) : value);
        break;
      }
      case "map": {
        const map = to.get(field);
        const entries = [...from.get(field)].sort(([a], [b]) => (String(a) < String(b) ? -1 : 1));
        for (const [key, value] of entries)
          map.set(key, field.mapKind === "message" ? canonicalChild(value) : value);
        break;
      }
    }
  }
  return to.message;
}

function canonicalChild(value: unknown): ReflectMessage {
  const child = value as ReflectMessage;
  return reflect(child.desc, canonical(child.desc, child.message));
}
