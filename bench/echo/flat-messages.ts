import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { type BytesValue, BytesValueSchema } from "@bufbuild/protobuf/wkt";
import type { MessageBytes } from "../world/step-messages.js";
import type { EchoMessages } from "./grpc-js-echo.js";
import { payloads } from "./payload.js";

const encode = (message: BytesValue): Buffer => Buffer.from(toBinary(BytesValueSchema, message));
const decode = (bytes: Buffer): BytesValue => fromBinary(BytesValueSchema, bytes);
const valued = (value: Uint8Array): BytesValue => create(BytesValueSchema, { value: new Uint8Array(value) });

/** The plainest messages of a size: one field of bytes, by protobuf-es. */
export function flatMessages(bytes: MessageBytes): EchoMessages<BytesValue, BytesValue> {
  const { request, reply, check } = payloads({
    request: valueBytes(bytes.request),
    response: valueBytes(bytes.response),
  });
  return {
    encodeRequest: encode,
    decodeRequest: decode,
    encodeReply: encode,
    decodeReply: decode,
    request: (index) => valued(request(index)),
    reply: ({ value }) => valued(reply(value)),
    check: ({ value }, index) => check(value, index),
  };
}

/** Bytes of a field whose message is `whole` bytes long. */
function valueBytes(whole: number): number {
  const overhead = whole - 2 < 128 ? 2 : 3;
  return whole - overhead;
}
