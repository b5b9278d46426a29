import type { MessageBytes } from "../world/step-messages.js";

/** Digits of the number that every message begins with. */
const DIGITS = 8;

/** Messages of given sizes that begin with the number of their step: what the echoes exchange. */
export interface Payloads {
  request(index: number): Buffer;
  /** The answer to a request. */
  reply(request: Uint8Array): Buffer;
  /** @throws Error - It is not the answer to request `index`, whole. */
  check(reply: Uint8Array, index: number): void;
}

/** @param bytes - Sizes of the messages. */
export function payloads(bytes: MessageBytes): Payloads {
  const asked = Buffer.alloc(bytes.request, "a");
  const answered = Buffer.alloc(bytes.response, "b");
  return {
    request(index) {
      const message = Buffer.from(asked);
      message.write(String(index).padStart(DIGITS, "0"), "latin1");
      return message;
    },
    reply(request) {
      const message = Buffer.from(answered);
      message.set(request.subarray(0, DIGITS));
      return message;
    },
    check(reply, index) {
      const found = Buffer.from(reply.buffer, reply.byteOffset, reply.byteLength).toString(
        "latin1",
        0,
        DIGITS,
      );
      if (reply.length === bytes.response && Number(found) === index) return;
      throw new Error(
        `expected the ${bytes.response} bytes that answer step ${index}, found ${reply.length} of "${found}"`,
      );
    },
  };
}
