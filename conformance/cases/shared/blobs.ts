import { createHash } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import {
  type BlobRef,
  BlobRefSchema,
  BlobService,
  Feature,
  type PutBlobRequest,
  PutBlobRequestSchema,
} from "../../../gen/index.js";
import type { Check } from "../../check/check.js";
import type { Trial } from "../../check/trial.js";
import type { SubjectClient } from "../../subject/subject-client.js";
import type { SharedSubject } from "./shared-subject.js";

/** Calls of BlobService. */
export type BlobCalls = SubjectClient<typeof BlobService>;

const part = 1 << 20;
const mib = 1 << 20;

/** The name of these bytes. */
export function refOf(bytes: Uint8Array, mediaType = "application/octet-stream"): BlobRef {
  const sha256 = createHash("sha256").update(bytes).digest();
  return create(BlobRefSchema, { sha256, sizeBytes: BigInt(bytes.byteLength), mediaType });
}

/** Stores bytes, in parts of 1 MiB; under another name where one is given. */
export function putBlob(calls: BlobCalls, bytes: Uint8Array, ref: BlobRef = refOf(bytes)) {
  async function* parts(): AsyncIterable<PutBlobRequest> {
    yield create(PutBlobRequestSchema, { ref, data: bytes.subarray(0, part) });
    for (let at = part; at < bytes.byteLength; at += part) {
      yield create(PutBlobRequestSchema, { data: bytes.subarray(at, at + part) });
    }
  }
  return calls.putBlob(parts());
}

/** Reads a blob whole. */
export async function getBlob(t: Trial, calls: BlobCalls, ref: BlobRef): Promise<Uint8Array> {
  const parts = t.judge.stream("GetBlob", await calls.getBlob({ ref }).finish());
  return new Uint8Array(Buffer.concat(parts.map(({ data }) => data)));
}

/** Bytes that no other check has stored: 0 to 255 in turn behind a start of their own. */
export function freshBytes(t: Trial, size: number): Uint8Array {
  const start = new TextEncoder().encode(t.id("blob"));
  const bytes = Uint8Array.from({ length: size }, (_, index) => index % 256);
  bytes.set(start.subarray(0, size));
  return bytes;
}

/** BLOBS: content by digest, on the service's own port. */
export function blobChecks<T extends Trial>(subject: SharedSubject<T>): Check<T>[] {
  const features = [Feature.BLOBS];
  const open = (t: T): BlobCalls => t.connect().client(BlobService);
  return [
    subject.check(
      {
        clause: "ALL-BLOB-001",
        name: "round-trip",
        title: "blobs of 0 bytes, 1 byte and 10 MiB come back as they were, from an offset too.",
        features,
        stacks: ["connect-node", "grpc-js"],
      },
      async (t) => {
        const calls = open(t);
        for (const size of [0, 1, 10 * mib]) {
          const bytes = freshBytes(t, size);
          t.judge.answer(`PutBlob of ${size} bytes`, await putBlob(calls, bytes));
          const back = await getBlob(t, open(t), refOf(bytes));
          t.judge.that(`${size} bytes`, Buffer.compare(back, bytes) === 0, {
            expected: "to come back",
            actual: `${back.byteLength} bytes`,
          });
        }
        const bytes = freshBytes(t, 3_000);
        t.judge.answer("PutBlob", await putBlob(calls, bytes));
        const parts = await calls.getBlob({ ref: refOf(bytes), offset: 1_000n }).finish();
        const rest = Buffer.concat(t.judge.stream("GetBlob", parts).map(({ data }) => data));
        t.judge.that("from offset 1,000", Buffer.compare(rest, bytes.subarray(1_000)) === 0, {
          expected: "the last 2,000 bytes",
          actual: `${rest.byteLength} bytes`,
        });
      },
    ),
    subject.check(
      {
        clause: "ALL-DATA-004",
        name: "blob",
        title: "bytes of every value come back as they were.",
        features,
      },
      async (t) => {
        const bytes = Uint8Array.from({ length: 512 }, (_, index) => 255 - (index % 256));
        t.judge.answer("PutBlob", await putBlob(open(t), bytes));
        const back = await getBlob(t, open(t), refOf(bytes));
        t.judge.equal("the bytes", [...back], [...bytes]);
      },
    ),
    subject.check(
      {
        clause: "ALL-BLOB-002",
        name: "mismatch",
        title: "bytes that are not those of their name are refused and not stored, the right ones are taken.",
        features,
        sendsInvalid: true,
      },
      async (t) => {
        const calls = open(t);
        const bytes = freshBytes(t, 4_000);
        const ref = refOf(bytes);
        const changed = Uint8Array.from(bytes);
        changed[2_000] = (changed[2_000] ?? 0) ^ 1;
        const refusal = { code: ["INVALID_ARGUMENT"], reason: ["INVALID_FIELD"] };
        t.judge.refused("another byte", await putBlob(calls, changed, ref), refusal);
        const longer = { ...ref, sizeBytes: 4_001n };
        t.judge.refused("another size", await putBlob(calls, bytes, longer), refusal);
        const unknown = { code: ["NOT_FOUND"], reason: ["NAME_UNKNOWN"] };
        t.judge.refused("GetBlob", await calls.getBlob({ ref }).finish(), unknown);
        t.judge.answer("the right bytes", await putBlob(calls, bytes));
      },
    ),
    subject.check(
      {
        clause: "ALL-BLOB-003",
        name: "again",
        title: "the first PutBlob does not say already_stored, the second does.",
        features,
      },
      async (t) => {
        const bytes = freshBytes(t, 100);
        const first = t.judge.answer("the first", await putBlob(open(t), bytes));
        const second = t.judge.answer("the second", await putBlob(open(t), bytes));
        t.judge.equal("already_stored of the first", first.alreadyStored, false);
        t.judge.equal("already_stored of the second", second.alreadyStored, true);
      },
    ),
    subject.check(
      {
        clause: "ALL-BLOB-004",
        name: "own-port",
        title: "BlobService answers over the connection on which the service does.",
        features,
      },
      async (t) => {
        const connection = t.connect();
        const bytes = freshBytes(t, 10);
        t.judge.answer("PutBlob", await putBlob(connection.client(BlobService), bytes));
        t.judge.answer("Describe", await subject.describe(t));
        t.judge.equal("the bytes", await getBlob(t, connection.client(BlobService), refOf(bytes)), bytes);
      },
    ),
  ];
}
