import { maxMessageHeader, usualMaxMessageBytes } from "../metadata.js";

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
export function messageLimit(maxMessageBytes = usualMaxMessageBytes): MessageLimit {
  if (!Number.isSafeInteger(maxMessageBytes) || maxMessageBytes < 1) {
    throw new Error(`maxMessageBytes is a whole number of bytes from 1 on; found ${maxMessageBytes}`);
  }
  const usual = maxMessageBytes === usualMaxMessageBytes;
  return { maxMessageBytes, headers: usual ? {} : { [maxMessageHeader]: String(maxMessageBytes) } };
}
