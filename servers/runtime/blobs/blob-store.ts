import type { BlobRef } from "../../../gen/index.js";
import type { Clock, Timer } from "../clock.js";
import { Refusal } from "../refusal.js";

/** Blobs that somebody may read. */
export interface BlobReader {
  /** The bytes, kept on from now; undefined where they are not here. */
  get(ref: BlobRef): Uint8Array | undefined;
  /** What may be done about bytes that are not here, for refusals. */
  readonly otherwise: string;
}

/** Bytes that a server holds for its callers, each under its SHA-256 (R11, feature BLOBS). */
export interface BlobStore extends BlobReader {
  /** Room for bytes that are on their way. Throws CAPACITY where there is none. */
  reserve(ref: BlobRef): BlobRoom;
}

/** Room that is taken up in a store, until its bytes are kept or it is freed. */
export interface BlobRoom {
  /** Keeps the bytes, whose size and digest are known to be the reference's. */
  keep(bytes: Uint8Array): void;
  /** Gives room back whose bytes are not kept; harmless otherwise. */
  free(): void;
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
  /** Bytes that are kept, or have room. */
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
    otherwise: "put them with PutBlob",
    get: (ref) => used(ref)?.bytes,
    reserve(ref) {
      const size = Number(ref.sizeBytes);
      if (held + size > maxBytes) {
        throw new Refusal(
          "CAPACITY",
          `no room for ${size} bytes: ${held} of ${maxBytes} are taken; they go when they are used no more`,
          { metadata: { limit: String(maxBytes) } },
        );
      }
      held += size;
      let taken = true;
      const free = (): void => {
        if (taken) held -= size;
        taken = false;
      };
      return {
        free,
        keep(bytes) {
          // Somebody else's may have come first.
          if (!taken || used(ref) !== undefined) return free();
          taken = false;
          const key = keyOf(ref);
          const blob: Kept = { bytes, until: clock.now() + retentionMs, timer: undefined };
          blobs.set(key, blob);
          watch(key, blob);
        },
      };
    },
  };
}

/** What a blob is known by. */
export function keyOf({ sha256 }: BlobRef): string {
  return Buffer.from(sha256).toString("hex");
}
