import type { BlobRef } from "../../../gen/index.js";
import type { Clock, Timer } from "../clock.js";
import { Refusal } from "../refusal.js";

/** Bytes that a server holds for its callers, each under its SHA-256 (R11, feature BLOBS). */
export interface BlobStore {
  /** Whether the bytes are here; they are kept on from now. */
  has(ref: BlobRef): boolean;
  /** The bytes, kept on from now; undefined where they are not here. */
  get(ref: BlobRef): Uint8Array | undefined;
  /** Keeps bytes whose digest is known to be right. Throws CAPACITY where there is no room. */
  put(ref: BlobRef, bytes: Uint8Array): void;
}

/** What a store keeps. */
export interface BlobStoreOptions {
  readonly clock: Clock;
  /** Milliseconds that bytes are kept after they were put or read last: as long as answers. */
  readonly retentionMs: number;
  /** Bytes held in all. */
  readonly maxBytes: number;
}

interface Kept {
  readonly bytes: Uint8Array;
  /** When it may go; moved by every use. */
  until: number;
  timer: Timer | undefined;
}

/** A store in memory. */
export function createBlobStore({ clock, retentionMs, maxBytes }: BlobStoreOptions): BlobStore {
  const blobs = new Map<string, Kept>();
  let held = 0;

  function watch(key: string, blob: Kept): void {
    blob.timer = clock.setTimer(blob.until - clock.now(), () => {
      if (clock.now() < blob.until) {
        watch(key, blob);
        return;
      }
      blobs.delete(key);
      held -= blob.bytes.length;
    });
  }

  function used(ref: BlobRef): Kept | undefined {
    const blob = blobs.get(keyOf(ref));
    // A digest with another size is not the blob that was meant.
    if (blob === undefined || BigInt(blob.bytes.length) !== ref.sizeBytes) return undefined;
    blob.until = clock.now() + retentionMs;
    return blob;
  }

  return {
    has: (ref) => used(ref) !== undefined,
    get: (ref) => used(ref)?.bytes,
    put(ref, bytes) {
      if (used(ref) !== undefined) return;
      if (held + bytes.length > maxBytes) {
        throw new Refusal(
          "CAPACITY",
          `no room for ${bytes.length} bytes: ${held} of ${maxBytes} are held; they go when they are used no more`,
          { metadata: { limit: String(maxBytes) } },
        );
      }
      held += bytes.length;
      const key = keyOf(ref);
      const blob: Kept = { bytes, until: clock.now() + retentionMs, timer: undefined };
      blobs.set(key, blob);
      watch(key, blob);
    },
  };
}

function keyOf({ sha256 }: BlobRef): string {
  return Buffer.from(sha256).toString("hex");
}
