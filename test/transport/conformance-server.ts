// The server under test. The official runner starts it, tells on stdin what it wants, and reads on stdout where it is.
import { create, createRegistry, fromBinary, toBinary } from "@bufbuild/protobuf";
import { openPort } from "../../servers/runtime/port/index.js";
import { conformanceRoute } from "./conformance-service.js";
import {
  ServerCompatRequestSchema,
  ServerCompatResponseSchema,
} from "./gen/connectrpc/conformance/v1/server_compat_pb.js";
import { file_connectrpc_conformance_v1_service } from "./gen/connectrpc/conformance/v1/service_pb.js";

/** One message with four bytes of length before it. */
async function readDelimited(input: AsyncIterable<Buffer>): Promise<Buffer> {
  let bytes: Buffer = Buffer.alloc(0);
  for await (const chunk of input) {
    bytes = Buffer.concat([bytes, chunk]);
    if (bytes.length >= 4 && bytes.length >= 4 + bytes.readUInt32BE(0)) break;
  }
  return bytes.subarray(4, 4 + bytes.readUInt32BE(0));
}

const request = fromBinary(ServerCompatRequestSchema, await readDelimited(process.stdin));
const utf8 = new TextDecoder();
const { serverCreds: creds } = request;
const clientCa = utf8.decode(request.clientTlsCert);
const port = await openPort({
  routes: [conformanceRoute],
  host: "127.0.0.1",
  port: 0,
  maxReceiveBytes: request.messageReceiveLimit > 0 ? request.messageReceiveLimit : 0xffffffff,
  registry: createRegistry(file_connectrpc_conformance_v1_service),
  halfDuplexBidiOverHttp1: true,
  onInternalError: (method, error) => console.error(method.name, error),
  ...(request.useTls && creds !== undefined
    ? {
        tls: {
          cert: utf8.decode(creds.cert),
          key: utf8.decode(creds.key),
          ...(clientCa === "" ? {} : { clientCa }),
        },
      }
    : {}),
});
const answer = toBinary(
  ServerCompatResponseSchema,
  create(ServerCompatResponseSchema, {
    host: "127.0.0.1",
    port: port.port,
    ...(request.useTls && creds !== undefined ? { pemCert: creds.cert } : {}),
  }),
);
const length = Buffer.alloc(4);
length.writeUInt32BE(answer.length);
process.stdout.write(Buffer.concat([length, answer]));
process.once("SIGTERM", () => {
  void port.close({ graceMs: 0 }).then(() => process.exit(0));
});
