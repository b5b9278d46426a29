import { promisify } from "node:util";
import { gunzip, gunzipSync, gzip, gzipSync } from "node:zlib";
import { Code, ConnectError } from "@connectrpc/connect";

/** Below this many bytes the thread pool costs more than the work itself. */
const SYNC_BELOW_BYTES = 64 * 1024;

/** Smaller answers are sent plain: they would hardly shrink. */
export const COMPRESS_FROM_BYTES = 1024;

const gunzipInPool = promisify(gunzip) as (bytes: Uint8Array, options: object) => Promise<Buffer>;
const gzipInPool = promisify(gzip) as (bytes: Uint8Array) => Promise<Buffer>;

/**
 * Unpacks one message; small ones at once, large ones in the thread pool.
 *
 * @throws ConnectError - RESOURCE_EXHAUSTED when it unpacks to more than `maxBytes`, INVALID_ARGUMENT when it is not gzip.
 */
export function unpack(bytes: Uint8Array, maxBytes: number): Uint8Array | Promise<Uint8Array> {
  if (bytes.length === 0) return bytes;
  const options = { maxOutputLength: maxBytes };
  if (bytes.length >= SYNC_BELOW_BYTES) {
    return gunzipInPool(bytes, options).catch((error: unknown) => {
      throw unpackError(error, maxBytes);
    });
  }
  try {
    return gunzipSync(bytes, options);
  } catch (error) {
    throw unpackError(error, maxBytes);
  }
}

/** Packs one message; small ones at once, large ones in the thread pool. */
export function pack(bytes: Uint8Array): Uint8Array | Promise<Uint8Array> {
  return bytes.length < SYNC_BELOW_BYTES ? gzipSync(bytes) : gzipInPool(bytes);
}

function unpackError(error: unknown, maxBytes: number): ConnectError {
  if (error instanceof Error && "code" in error && error.code === "ERR_BUFFER_TOO_LARGE") {
    return new ConnectError(
      `a compressed message unpacks to more than the receive limit of ${maxBytes} bytes; send a smaller one`,
      Code.ResourceExhausted,
    );
  }
  const found = error instanceof Error ? error.message : String(error);
  return new ConnectError(
    `a message flagged as gzip cannot be unpacked (${found}); send gzip or no flag`,
    Code.InvalidArgument,
  );
}
