import { createHash } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import {
  type BlobRef,
  BlobService,
  GetBlobRequestSchema,
  type GetBlobResponse,
  GetBlobResponseSchema,
  type PutBlobRequest,
  PutBlobRequestSchema,
  PutBlobResponseSchema,
} from "../../../gen/index.js";
import type { ServiceRoute } from "../grpc/index.js";
import { invalidField, Refusal } from "../refusal.js";
import { route } from "../route.js";
import type { Runtime } from "../runtime.js";
import { validate } from "../validate.js";
import type { BlobStore } from "./blob-store.js";

/** Bytes of a part that is sent. */
const partBytes = 1 << 20;

/** BlobService over a store, for the port of the service whose feature BLOBS it is (ALL-BLOB-004). */
export function blobService(runtime: Runtime, store: BlobStore): ServiceRoute {
  const { maxBlobBytes } = runtime.limits;
  return route(runtime, BlobService, {
    async putBlob(requests) {
      const { ref, bytes } = await receive(requests, store, maxBlobBytes);
      if (bytes === undefined) return create(PutBlobResponseSchema, { alreadyStored: true });
      store.put(ref, bytes);
      return create(PutBlobResponseSchema);
    },
    async *getBlob(request, call) {
      validate(GetBlobRequestSchema, request);
      const bytes = readBlob(store, request.ref, "ref");
      if (request.offset > BigInt(bytes.length)) {
        throw invalidField("offset", `expected at most the size, ${bytes.length}; found ${request.offset}`);
      }
      yield* partsOf(bytes, Number(request.offset), call.signal);
    },
  });
}

/** The bytes that a reference names. Throws NAME_UNKNOWN with the path of a reference that cannot be read (ALL-BLOB-007). */
export function readBlob(store: BlobStore, ref: BlobRef | undefined, field: string): Uint8Array {
  const bytes = ref === undefined ? undefined : store.get(ref);
  if (bytes !== undefined) return bytes;
  const description = "these bytes are not held here; put them with PutBlob";
  throw new Refusal("NAME_UNKNOWN", `${field}: ${description}`, { violations: [{ field, description }] });
}

function* partsOf(bytes: Uint8Array, offset: number, signal: AbortSignal): Generator<GetBlobResponse> {
  for (let at = offset; at < bytes.length && !signal.aborted; at += partBytes) {
    yield create(GetBlobResponseSchema, { data: bytes.subarray(at, at + partBytes) });
  }
}

/** Reads a blob whole and checks it (ALL-BLOB-002); without bytes where it is here already (ALL-BLOB-003). */
async function receive(
  requests: AsyncIterable<PutBlobRequest>,
  store: BlobStore,
  maxBytes: number,
): Promise<{ readonly ref: BlobRef; readonly bytes: Uint8Array | undefined }> {
  const parts: Uint8Array[] = [];
  const digest = createHash("sha256");
  let ref: BlobRef | undefined;
  let size = 0;
  for await (const request of requests) {
    validate(PutBlobRequestSchema, request);
    if (ref === undefined) {
      ref = firstRef(request, maxBytes);
      if (store.has(ref)) return { ref, bytes: undefined };
    } else if (request.ref !== undefined) {
      throw invalidField("ref", "expected in the first message only, found in a later one");
    }
    size += request.data.length;
    if (BigInt(size) > ref.sizeBytes) throw wrongSize(ref, `more than`, size);
    parts.push(request.data);
    digest.update(request.data);
  }
  if (ref === undefined) throw invalidField("ref", "expected in the first message, found no message");
  if (BigInt(size) !== ref.sizeBytes) throw wrongSize(ref, "only", size);
  if (!digest.digest().equals(ref.sha256)) {
    throw invalidField("ref.sha256", "the bytes have another SHA-256; nothing was stored");
  }
  return { ref, bytes: Buffer.concat(parts, size) };
}

function firstRef({ ref }: PutBlobRequest, maxBytes: number): BlobRef {
  if (ref === undefined) throw invalidField("ref", "expected in the first message, found none");
  if (ref.sizeBytes <= BigInt(maxBytes)) return ref;
  const field = "ref.size_bytes";
  const description = `a blob has at most ${maxBytes} bytes here, this one ${ref.sizeBytes}`;
  throw new Refusal("CONTENT_TOO_LARGE", `${field}: ${description}`, {
    violations: [{ field, description }],
    metadata: { limit: String(maxBytes), actual: String(ref.sizeBytes) },
  });
}

function wrongSize({ sizeBytes }: BlobRef, what: string, size: number): Refusal {
  return invalidField(
    "ref.size_bytes",
    `expected ${sizeBytes} bytes, found ${what} ${size}; nothing was stored`,
  );
}
