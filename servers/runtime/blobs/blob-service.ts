import { createHash } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
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
import { invalidField, type Refusal } from "../refusal.js";
import { routeShared } from "../route.js";
import type { Runtime } from "../runtime.js";
import { validate } from "../validate.js";
import type { BlobReader, BlobRoom, BlobStore } from "./blob-store.js";
import { contentTooLarge, readBlob } from "./read-blob.js";

/** Bytes of a part that is sent. */
const partBytes = 1 << 20;

/** Who else than the controller reads blobs, where the server knows its principals (R15). */
export interface BlobReaders {
  /** Whether a token is somebody's who does. */
  readonly knows: (token: string) => boolean;
  /** The blobs that a caller may read. Throws CREDENTIALS. */
  readonly of: (call: HandlerContext) => BlobReader;
}

/**
 * BlobService over a store, for the port of the service whose feature BLOBS it is (ALL-BLOB-004). Bytes are put by the
 * controller alone; where there are other readers, they read what they were given references to.
 */
export function blobService(runtime: Runtime, store: BlobStore, readers: BlobReaders): ServiceRoute {
  const { maxBlobBytes } = runtime.limits;
  const access = { shared: ["getBlob"], knows: readers.knows };
  return routeShared({ runtime, access }, BlobService, {
    async putBlob(requests) {
      const alreadyStored = await receive(requests, store, maxBlobBytes);
      return create(PutBlobResponseSchema, { alreadyStored });
    },
    async *getBlob(request, call) {
      const reader = readers.of(call);
      validate(GetBlobRequestSchema, request);
      const bytes = readBlob(reader, request.ref, "ref");
      if (request.offset > BigInt(bytes.length)) {
        throw invalidField("offset", `expected at most the size, ${bytes.length}; found ${request.offset}`);
      }
      yield* partsOf(bytes, Number(request.offset), call.signal);
    },
  });
}

function* partsOf(bytes: Uint8Array, offset: number, signal: AbortSignal): Generator<GetBlobResponse> {
  for (let at = offset; at < bytes.length && !signal.aborted; at += partBytes) {
    yield create(GetBlobResponseSchema, { data: bytes.subarray(at, at + partBytes) });
  }
}

/**
 * Stores a blob that comes in parts once it is whole and right (ALL-BLOB-002); its room is taken with the first part.
 * Answers whether it was here already (ALL-BLOB-003).
 */
async function receive(
  requests: AsyncIterable<PutBlobRequest>,
  store: BlobStore,
  maxBytes: number,
): Promise<boolean> {
  const parts: Uint8Array[] = [];
  const digest = createHash("sha256");
  let ref: BlobRef | undefined;
  let room: BlobRoom | undefined;
  let size = 0;
  try {
    for await (const request of requests) {
      validate(PutBlobRequestSchema, request);
      if (ref === undefined) {
        ref = firstRef(request, maxBytes);
        if (store.get(ref) !== undefined) return true;
        room = store.reserve(ref);
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
    room?.keep(Buffer.concat(parts, size));
    return false;
  } finally {
    room?.free();
  }
}

function firstRef({ ref }: PutBlobRequest, maxBytes: number): BlobRef {
  if (ref === undefined) throw invalidField("ref", "expected in the first message, found none");
  if (ref.sizeBytes <= BigInt(maxBytes)) return ref;
  throw contentTooLarge("ref.size_bytes", { what: "a blob", limit: maxBytes, actual: ref.sizeBytes });
}

function wrongSize({ sizeBytes }: BlobRef, what: string, size: number): Refusal {
  return invalidField(
    "ref.size_bytes",
    `expected ${sizeBytes} bytes, found ${what} ${size}; nothing was stored`,
  );
}
