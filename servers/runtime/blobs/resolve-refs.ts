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
  type Block,
  BlockSchema,
  InlineBlobSchema,
  ItemListSchema,
} from "../../../gen/index.js";
import { type FoundMessage, findMessages } from "../find-messages.js";
import { invalidField } from "../refusal.js";
import { readBlob } from "./blob-service.js";
import type { BlobStore } from "./blob-store.js";

/** Bytes of a list of items that is read at most: they are looked at one by one while everybody waits. */
const largestItemsBytes = 8 << 20;

const holdersOf = findMessages([BlockSchema, ArtifactSchema, AgentSubmissionSchema]);

/**
 * A request in which every reference to a blob is the blob itself, so that a reference does what the bytes would
 * (ALL-BLOB-006); the request itself where it has none. Throws the refusal of a reference that cannot be read, by its
 * path below `within` (ALL-BLOB-007).
 */
export function resolveRefs<D extends DescMessage>(
  store: BlobStore,
  { schema, within }: { readonly schema: D; readonly within: string },
  message: MessageShape<D>,
): MessageShape<D> {
  if (!holdersOf(schema, message).some(({ message: found }) => hasRef(found))) return message;
  const resolved = clone(schema, message);
  for (const found of holdersOf(schema, resolved, within)) resolve(store, found);
  // What came out of a list of items may hold references of its own.
  return resolveRefs(store, { schema, within }, resolved);
}

function hasRef(message: Message): boolean {
  switch (message.$typeName) {
    case BlockSchema.typeName:
      return (message as Block).kind.case === "blobRef";
    case ArtifactSchema.typeName:
      return (message as Artifact).body.case === "ref";
    default:
      return (message as AgentSubmission).itemsRef !== undefined;
  }
}

function resolve(store: BlobStore, { path, message }: FoundMessage): void {
  if (!hasRef(message)) return;
  switch (message.$typeName) {
    case BlockSchema.typeName: {
      const block = message as Block;
      if (block.kind.case !== "blobRef") return;
      const { mediaType } = block.kind.value;
      const data = Uint8Array.from(readBlob(store, block.kind.value, `${path}.blob_ref`));
      block.kind = { case: "blob", value: create(InlineBlobSchema, { data, mediaType }) };
      return;
    }
    case ArtifactSchema.typeName: {
      const artifact = message as Artifact;
      if (artifact.body.case !== "ref") return;
      artifact.body = {
        case: "inline",
        value: Uint8Array.from(readBlob(store, artifact.body.value, `${path}.ref`)),
      };
      return;
    }
    default:
      resolveItems(store, message as AgentSubmission, path);
  }
}

function resolveItems(store: BlobStore, submission: AgentSubmission, path: string): void {
  const field = `${path}.items_ref`;
  if (submission.items.length > 0) throw invalidField(field, "expected items or items_ref, found both");
  const bytes = readBlob(store, submission.itemsRef, field);
  if (bytes.length > largestItemsBytes) {
    throw invalidField(field, `expected at most ${largestItemsBytes} bytes of items, found ${bytes.length}`);
  }
  try {
    submission.items = fromBinary(ItemListSchema, bytes).items;
  } catch {
    throw invalidField(field, "expected the bytes of an ItemList, found others");
  }
  delete submission.itemsRef;
}
