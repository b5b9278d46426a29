import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from "node:http2";
import type { Target } from "./connection.js";

/** One gRPC message with its prefix: flag, length, bytes. */
export function frame(message: Uint8Array, { compressed = false, length = message.byteLength } = {}): Buffer {
  const head = Buffer.alloc(5);
  head[0] = compressed ? 1 : 0;
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, message]);
}

/** What a raw call brought. HTTP statuses and resets are told as gRPC codes, as client libraries do it. */
export interface RawReply {
  /** gRPC code by its number; what HTTP or RST_STREAM mean where there is no grpc-status. */
  readonly code: number;
  /** grpc-message, decoded. */
  readonly message: string;
  /** Whole messages that came. */
  readonly messages: readonly Buffer[];
  /** How the stream ended: with trailers, by RST_STREAM, or with its connection. */
  readonly ended: "trailers" | "reset" | "connection";
  /** Error code of the RST_STREAM. */
  readonly resetCode: number;
}

/** A call by hand: what no client library can send. */
export interface RawCall {
  /** `/touchstone.v1.EnvironmentService/Seed` */
  readonly path: string;
  /** Chunks as they are written, each in a DATA frame of its own (or several, where it is large). */
  readonly chunks: readonly Uint8Array[];
  readonly headers?: Readonly<Record<string, string>>;
  /** Ends the request after the chunks; else it stays open until `reset` or the answer. */
  readonly halfClose?: boolean;
  /** RST_STREAM with this code right behind the last chunk. */
  readonly reset?: number;
}

/** A connection by node:http2 alone. */
export interface RawConnection extends Disposable {
  call(call: RawCall): Promise<RawReply>;
  /** The server said GOAWAY, or closed the connection. */
  readonly gone: boolean;
}

const codeOfReset: Readonly<Record<number, number>> = {
  [constants.NGHTTP2_NO_ERROR]: 13,
  [constants.NGHTTP2_REFUSED_STREAM]: 14,
  [constants.NGHTTP2_CANCEL]: 1,
  [constants.NGHTTP2_ENHANCE_YOUR_CALM]: 8,
  [constants.NGHTTP2_INADEQUATE_SECURITY]: 7,
};
const codeOfHttp: Readonly<Record<number, number>> = {
  400: 13,
  401: 16,
  403: 7,
  404: 12,
  429: 14,
  502: 14,
  503: 14,
  504: 14,
};
const internal = 13;
const unknown = 2;
const unavailable = 14;

/** Opens a connection; `signal` destroys it. */
export function rawConnection({ url, tls, headers }: Target, signal: AbortSignal): RawConnection {
  const session = connect(url, { ...tls });
  let gone = false;
  const end = (): void => {
    gone = true;
  };
  session.on("error", end);
  session.on("goaway", end);
  session.on("close", end);
  const destroy = (): void => session.destroy();
  signal.addEventListener("abort", destroy, { once: true });
  return {
    call: (call) => rawCall(session, { ...call, headers: { ...headers, ...call.headers } }),
    get gone() {
      return gone;
    },
    [Symbol.dispose]() {
      signal.removeEventListener("abort", destroy);
      session.destroy();
    },
  };
}

async function rawCall(session: ClientHttp2Session, call: RawCall): Promise<RawReply> {
  const { path, chunks, headers = {}, halfClose = true, reset } = call;
  const stream = session.request(
    { ":method": "POST", ":path": path, "content-type": "application/grpc", te: "trailers", ...headers },
    { endStream: false },
  );
  const reply = read(stream);
  for (const chunk of chunks) await write(stream, chunk);
  if (reset !== undefined) stream.close(reset);
  else if (halfClose && !stream.destroyed) stream.end();
  return reply;
}

/** A write that is refused, because the server has ended the stream, is no matter: the answer tells. */
function write(stream: ClientHttp2Stream, chunk: Uint8Array): Promise<void> {
  return new Promise((resolve) => {
    if (stream.destroyed || stream.writableEnded) resolve();
    else stream.write(chunk, () => resolve());
  });
}

function read(stream: ClientHttp2Stream): Promise<RawReply> {
  return new Promise((resolve) => {
    let status = 0;
    let told: Record<string, unknown> = {};
    const parts: Buffer[] = [];
    stream.on("response", (received) => {
      status = Number(received[":status"]);
      if (received["grpc-status"] !== undefined) told = received;
    });
    stream.on("trailers", (trailers) => {
      told = trailers;
    });
    stream.on("data", (part: Buffer) => parts.push(part));
    stream.on("error", () => undefined);
    stream.on("close", () => {
      const grpc = told["grpc-status"];
      const resetCode = stream.rstCode ?? 0;
      const byHttp = status !== 0 && status !== 200 ? (codeOfHttp[status] ?? unknown) : undefined;
      const lost = status === 0 && resetCode === 0;
      resolve({
        code:
          grpc !== undefined
            ? Number(grpc)
            : (byHttp ?? (lost ? unavailable : (codeOfReset[resetCode] ?? internal))),
        message: decode(String(told["grpc-message"] ?? "")),
        messages: split(Buffer.concat(parts)),
        ended: grpc !== undefined || byHttp !== undefined ? "trailers" : lost ? "connection" : "reset",
        resetCode,
      });
    });
  });
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function split(bytes: Buffer): Buffer[] {
  const messages: Buffer[] = [];
  for (let at = 0; at + 5 <= bytes.byteLength; ) {
    const length = bytes.readUInt32BE(at + 1);
    if (at + 5 + length > bytes.byteLength) break;
    messages.push(bytes.subarray(at + 5, at + 5 + length));
    at += 5 + length;
  }
  return messages;
}
