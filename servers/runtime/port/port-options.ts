import type { DescMethod, Registry } from "@bufbuild/protobuf";
import type { MessageCodec } from "../grpc/message-codec.js";
import type { ServiceRoute } from "../grpc/service-route.js";

/** TLS material. Each string is PEM text, or the path of a PEM file. */
export interface PortTls {
  readonly cert: string;
  readonly key: string;
  /** The authorities of client certificates. When set, clients without a valid certificate are refused (mTLS). */
  readonly clientCa?: string;
}

/** How dead HTTP/2 peers are found: a ping after `intervalMs` of silence, the end `timeoutMs` later. */
export interface PortKeepalive {
  readonly intervalMs: number;
  readonly timeoutMs: number;
}

/** What a port serves, where, and for whom. */
export interface PortOptions {
  readonly routes: readonly ServiceRoute[];
  /** The address or name to listen on. */
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Default: plaintext. */
  readonly tls?: PortTls;
  /** The largest request message in bytes, for every protocol. Default 4 MiB, as gRPC clients have it. */
  readonly maxReceiveBytes?: number;
  /** The largest answer message in bytes, for every protocol. Default: none but protobuf's own (4 GiB). */
  readonly maxSendBytes?: number;
  /** Compress answers for clients that take it. Default false: on a local network it costs more than it saves. */
  readonly compress?: boolean;
  /** For gRPC; connect-node has its own. */
  readonly codec?: MessageCodec;
  /** Types that `google.protobuf.Any` may hold in JSON. */
  readonly registry?: Registry;
  /** Web origins (`https://example.org`) whose pages may call. Default: none (ALL-WEB-001). */
  readonly allowedOrigins?: readonly string[];
  /** Host names, with or without a port, that requests may name besides loopback and the port's own address. */
  readonly allowedHosts?: readonly string[];
  /** Hears of everything an implementation throws that is not a ConnectError, for every protocol. */
  readonly onInternalError?: (method: DescMethod, error: unknown) => void;
  /** Serve bidirectional methods over HTTP/1.1 too. Clients that wait for answers while sending then hang. */
  readonly halfDuplexBidiOverHttp1?: boolean;
  /** `false` turns it off. Default {@link DEFAULT_KEEPALIVE}. */
  readonly keepalive?: PortKeepalive | false;
  /** Fires the signal of every open and later call; the implementations decide how they end. */
  readonly shutdownSignal?: AbortSignal;
}

/** A peer that is silent for 30 s is asked, and has 20 s to answer. */
export const DEFAULT_KEEPALIVE: PortKeepalive = { intervalMs: 30_000, timeoutMs: 20_000 };

/** The most that connect-node and zlib can take as a limit. */
export const LARGEST_MESSAGE_BYTES = 0xffffffff;
