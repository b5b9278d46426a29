/** Bytes of one id or log-prob. */
export const tokenBytes = 4;

/** Token ids as the contract has them: uint32, little-endian (MDL-LOGP-009). */
export function bytesOfIds(ids: readonly number[]): Uint8Array {
  const bytes = Buffer.alloc(ids.length * tokenBytes);
  ids.forEach((id, i) => {
    bytes.writeUInt32LE(id, i * tokenBytes);
  });
  return bytes;
}

/** The token ids in bytes whose length is a multiple of four. */
export function idsOfBytes(bytes: Uint8Array): number[] {
  const view = viewOf(bytes);
  return Array.from({ length: countOf(bytes) }, (_, i) => view.getUint32(i * tokenBytes, true));
}

/** Log-probs as the contract has them: float32, little-endian (MDL-LOGP-001). */
export function bytesOfLogprobs(logprobs: readonly number[]): Uint8Array {
  const bytes = Buffer.alloc(logprobs.length * tokenBytes);
  logprobs.forEach((logprob, i) => {
    bytes.writeFloatLE(logprob, i * tokenBytes);
  });
  return bytes;
}

/** The log-probs in bytes whose length is a multiple of four. */
export function logprobsOfBytes(bytes: Uint8Array): number[] {
  const view = viewOf(bytes);
  return Array.from({ length: countOf(bytes) }, (_, i) => view.getFloat32(i * tokenBytes, true));
}

/** Number of whole ids or log-probs in bytes. */
export function countOf(bytes: Uint8Array): number {
  return Math.floor(bytes.length / tokenBytes);
}

/** Index of the first id in which `ids` differs from a beginning that it should have; undefined: it begins with it. */
export function firstDifference(ids: Uint8Array, beginning: Uint8Array): number | undefined {
  const count = countOf(beginning);
  const [have, want] = [viewOf(ids), viewOf(beginning)];
  for (let i = 0; i < count; i += 1) {
    if (i >= countOf(ids) || have.getUint32(i * tokenBytes) !== want.getUint32(i * tokenBytes)) return i;
  }
  return undefined;
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
