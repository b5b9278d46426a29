/** No message is larger unless both sides declare more (R11). */
export const DEFAULT_MAX_MESSAGE_BYTES = 4 * 1024 * 1024;

/** A channel's limit. */
export interface MessageLimit {
  /** Largest message either way. */
  readonly maxMessageBytes: number;
  /** Metadata that tells it to the peer, where it is not the usual one. */
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * The limit of a channel's options.
 *
 * @throws Error - It is no number of bytes.
 */
export function messageLimit(maxMessageBytes = DEFAULT_MAX_MESSAGE_BYTES): MessageLimit {
  if (!Number.isSafeInteger(maxMessageBytes) || maxMessageBytes < 1) {
    throw new Error(`maxMessageBytes is a whole number of bytes from 1 on; found ${maxMessageBytes}`);
  }
  const usual = maxMessageBytes === DEFAULT_MAX_MESSAGE_BYTES;
  return { maxMessageBytes, headers: usual ? {} : { "touchstone-max-message": String(maxMessageBytes) } };
}
