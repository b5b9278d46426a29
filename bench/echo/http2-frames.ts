import { createServer, type ServerHttp2Stream } from "node:http2";
import type { PointServer } from "../points/point.js";
import { listen } from "./listen.js";

const PREFIX_BYTES = 5;

/** Headers of a call as gRPC's clients send them. */
export const callHeaders = {
  ":method": "POST",
  ":path": "/bench.Echo/Call",
  te: "trailers",
  "content-type": "application/grpc",
} as const;

/** A message behind gRPC's prefix. */
export function framed(message: Buffer): Buffer {
  const frame = Buffer.allocUnsafe(PREFIX_BYTES + message.length);
  frame[0] = 0;
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, PREFIX_BYTES);
  return frame;
}

/** The one message that these chunks hold. */
export function messageOf(chunks: readonly Buffer[]): Buffer {
  const [first] = chunks;
  const whole = chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks);
  return whole.subarray(PREFIX_BYTES);
}

/** Cuts a stream into its messages, which are all of one size. */
export class FrameCutter {
  readonly #frameBytes: number;
  #rest: Buffer = Buffer.alloc(0);

  constructor(messageBytes: number) {
    this.#frameBytes = PREFIX_BYTES + messageBytes;
  }

  push(chunk: Buffer, take: (message: Buffer) => void): void {
    let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    while (bytes.length >= this.#frameBytes) {
      take(bytes.subarray(PREFIX_BYTES, this.#frameBytes));
      bytes = bytes.subarray(this.#frameBytes);
    }
    this.#rest = bytes;
  }
}

/** A server that answers every call with headers, what `answer` writes, and trailers of status 0. */
export async function serveHttp2(answer: (stream: ServerHttp2Stream) => void): Promise<PointServer> {
  const server = createServer();
  server.on("stream", (stream) => {
    stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    stream.on("error", () => {});
    answer(stream);
  });
  const port = await listen(server);
  return {
    address: `http://127.0.0.1:${port}`,
    close: async () => void server.close(),
  };
}
