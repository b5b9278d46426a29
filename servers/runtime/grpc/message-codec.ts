import {
  type DescMessage,
  fromBinary,
  fromJson,
  type JsonValue,
  type Message,
  type Registry,
  toJson,
} from "@bufbuild/protobuf";
import { encodeMessage } from "../../../clients/channel/encode-message.js";

/** The two sub-formats of gRPC: `application/grpc+proto` and `application/grpc+json`. */
export type MessageFormat = "proto" | "json";

/**
 * Turns messages into bytes and back. A seam: tests decorate it to answer with wrong bytes.
 *
 * Both functions throw on what they cannot turn; the call then ends with INVALID_ARGUMENT (request) or INTERNAL
 * (answer). `bytes` fields of a decoded message may alias the bytes read from the network, which stay alive as
 * long as the field does: copy the small part of a message that is kept.
 */
export interface MessageCodec {
  encode(schema: DescMessage, message: Message, format: MessageFormat): Uint8Array;
  decode(schema: DescMessage, bytes: Uint8Array, format: MessageFormat): Message;
}

/**
 * The codec of protobuf-es. Unknown JSON fields are ignored, as connect-node does.
 *
 * @param registry - Types that `google.protobuf.Any` may hold in JSON.
 */
export function createMessageCodec(registry?: Registry): MessageCodec {
  const jsonOptions = registry === undefined ? {} : { registry };
  const utf8 = new TextDecoder("utf-8", { fatal: true });
  return {
    encode(schema, message, format) {
      return format === "proto"
        ? encodeMessage(schema, message)
        : Buffer.from(JSON.stringify(toJson(schema, message, jsonOptions)));
    },
    decode(schema, bytes, format) {
      if (format === "proto") return fromBinary(schema, bytes);
      const value = JSON.parse(utf8.decode(bytes)) as JsonValue;
      return fromJson(schema, value, { ...jsonOptions, ignoreUnknownFields: true });
    },
  };
}
