import {
  clone,
  create,
  type DescMessage,
  fromBinary,
  type Message,
  type MessageShape,
} from "@bufbuild/protobuf";
import {
  type AgentSubmission,
  AgentSubmissionSchema,
  type Artifact,
  ArtifactSchema,
  type BlobRef,
  type Block,
  BlockSchema,
  InlineBlobSchema,
  ItemListSchema,
} from "../../../gen/index.js";
import { findMessages } from "../find-messages.js";
import { invalidField } from "../refusal.js";
import { type BlobReader, keyOf } from "./blob-store.js";
import { contentTooLarge, readBlob } from "./read-blob.js";

/** Bytes of a list of items that is read at most: they are looked at one by one while everybody waits. */
const largestItemsBytes = 8 << 20;

const holdersOf = findMessages([BlockSchema, ArtifactSchema, AgentSubmissionSchema]);

/** Whose references are resolved, and how far. */
export interface RefsOptions<D extends DescMessage> {
  readonly schema: D;
  /** Path of the message in its request; empty: it is the request. */
  readonly within: string;
  /** Bytes that all its references may stand for together, each as often as it is there. */
  readonly maxBytes: number;
}

/**
 * A request in which every reference to a blob is the blob itself, so that a reference does what the bytes would
 * (ALL-BLOB-006); the request itself where it has none. What is referred to is summed before anything is read, and read
 * once: references are small, what they stand for is not. Throws CONTENT_TOO_LARGE, and the refusal of a reference that
 * cannot be read, by its path below `within` (ALL-BLOB-007).
 */
export function resolveRefs<D extends DescMessage>(
  reader: BlobReader,
  { schema, within, maxBytes }: RefsOptions<D>,
  message: MessageShape<D>,
): MessageShape<D> {
  if (refsIn(schema, message).length === 0) return message;
  const resolved = clone(schema, message);
  const read = readOnce(reader);
  let bytes = 0n;
  // What came out of a list of items may hold references of its own.
  for (;;) {
    const found = refsIn(schema, resolved, within);
    if (found.length === 0) return resolved;
    for (const { field, ref } of found) {
      bytes += ref.sizeBytes;
      if (bytes > BigInt(maxBytes)) {
        throw contentTooLarge(field, { what: "what a request refers to", limit: maxBytes, actual: bytes });
      }
    }
    for (const { field, ref, holder } of found) resolve(holder, { field, bytes: () => read(ref, field) });
  }
}

/** A reference in a message. */
export interface FoundRef {
  /** Its path. */
  readonly field: string;
  readonly ref: BlobRef;
  /** The message that it is a field of. */
  readonly holder: Message;
}

/** All references to blobs in a message. */
export function refsIn(schema: DescMessage, message: Message, within = ""): FoundRef[] {
  return holdersOf(schema, message, within).flatMap(({ path, message: holder }) => {
    const found = refOf(holder);
    return found === undefined ? [] : [{ field: `${path}.${found.name}`, ref: found.ref, holder }];
  });
}

function refOf(message: Message): { readonly name: string; readonly ref: BlobRef } | undefined {
  switch (message.$typeName) {
    case BlockSchema.typeName: {
      const { kind } = message as Block;
      return kind.case === "blobRef" ? { name: "blob_ref", ref: kind.value } : undefined;
    }
    case ArtifactSchema.typeName: {
      const { body } = message as Artifact;
      return body.case === "ref" ? { name: "ref", ref: body.value } : undefined;
    }
    default: {
      const { itemsRef } = message as AgentSubmission;
      return itemsRef === undefined ? undefined : { name: "items_ref", ref: itemsRef };
    }
  }
}

/** Reads each blob once, as a copy of the request's own: whoever gets it may write into it. */
function readOnce(reader: BlobReader): (ref: BlobRef, field: string) => Uint8Array {
  const known = new Map<string, Uint8Array>();
  return (ref, field) => {
    const stored = readBlob(reader, ref, field);
    const key = keyOf(ref);
    const copy = known.get(key) ?? Uint8Array.from(stored);
    known.set(key, copy);
    return copy;
  };
}

interface Referred {
  readonly field: string;
  readonly bytes: () => Uint8Array;
}

function resolve(holder: Message, { field, bytes }: Referred): void {
  switch (holder.$typeName) {
    case BlockSchema.typeName: {
      const block = holder as Block;
      if (block.kind.case !== "blobRef") return;
      const { mediaType } = block.kind.value;
      block.kind = { case: "blob", value: create(InlineBlobSchema, { data: bytes(), mediaType }) };
      return;
    }
    case ArtifactSchema.typeName:
      (holder as Artifact).body = { case: "inline", value: bytes() };
      return;
    default:
      resolveItems(holder as AgentSubmission, { field, bytes });
  }
}

function resolveItems(submission: AgentSubmission, { field, bytes }: Referred): void {
  if (submission.items.length > 0) throw invalidField(field, "expected items or items_ref, found both");
  const size = submission.itemsRef?.sizeBytes ?? 0n;
  if (size > BigInt(largestItemsBytes)) {
    throw contentTooLarge(field, { what: "a list of items", limit: largestItemsBytes, actual: size });
  }
  const list = bytes();
  try {
    submission.items = fromBinary(ItemListSchema, list).items;
  } catch {
    throw invalidField(field, "expected the bytes of an ItemList, found others");
  }
  delete submission.itemsRef;
}
