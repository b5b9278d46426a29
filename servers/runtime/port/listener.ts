import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type TLSSocket, type TlsOptions } from "node:tls";
import { createProtocolSniffer } from "./protocol-sniffer.js";

/** Where connections go once their protocol is known. */
export interface ProtocolTargets {
  http1(socket: Socket): void;
  http2(socket: Socket): void;
}

/** A socket that is being listened on. */
export interface Listener {
  readonly address: AddressInfo;
  /** Takes no more connections and ends those whose protocol is not known yet. */
  stop(): void;
}

/** How long a client may take for the TLS handshake. */
const HANDSHAKE_MS = 10_000;

/** See {@link raiseWriteMark}. */
const TLS_WRITE_MARK_BYTES = 4 * 1024 * 1024;

/**
 * Listens and sorts connections by protocol: plaintext by their first bytes, TLS by ALPN.
 *
 * @throws Error - Naming host and port, when they cannot be listened on.
 */
export async function listen(
  at: { readonly host: string; readonly port: number },
  tls: TlsOptions | undefined,
  targets: ProtocolTargets,
): Promise<Listener> {
  const http2 = (socket: Socket): void => {
    // HTTP/1.1 needs half-open sockets; an HTTP/2 peer that ends its side is gone.
    socket.allowHalfOpen = false;
    targets.http2(socket);
  };
  const { server, endUndecided } =
    tls === undefined
      ? plaintextServer({ http1: targets.http1, http2 })
      : tlsServer(tls, { http1: targets.http1, http2 });
  await startListening(server, at);
  return {
    address: server.address() as AddressInfo,
    stop() {
      server.close();
      endUndecided();
    },
  };
}

interface SortingServer {
  readonly server: Server;
  endUndecided(): void;
}

function plaintextServer(targets: ProtocolTargets): SortingServer {
  const sniffer = createProtocolSniffer(targets);
  const server = createServer({ allowHalfOpen: true, noDelay: true }, sniffer.accept);
  return { server, endUndecided: sniffer.destroyUndecided };
}

function tlsServer(tls: TlsOptions, targets: ProtocolTargets): SortingServer {
  // Raw connections in their handshake, by remote port: the TLS socket does not tell which one it wraps.
  const handshaking = new Map<string, Socket>();
  const server = createTlsServer({
    ...tls,
    ALPNProtocols: ["h2", "http/1.1"],
    handshakeTimeout: HANDSHAKE_MS,
    allowHalfOpen: true,
    noDelay: true,
  });
  server.on("connection", (socket: Socket) => {
    const key = peerOf(socket);
    handshaking.set(key, socket);
    socket.once("close", () => handshaking.delete(key));
  });
  server.on("secureConnection", (socket: TLSSocket) => {
    handshaking.delete(peerOf(socket));
    if (socket.alpnProtocol === "h2") return targets.http2(socket);
    raiseWriteMark(socket);
    targets.http1(socket);
  });
  return {
    server,
    endUndecided() {
      for (const socket of handshaking.values()) socket.destroy();
    },
  };
}

function peerOf(socket: Socket): string {
  return `${socket.remoteAddress}/${socket.remotePort}`;
}

/**
 * Keeps Node's HTTP/1.1 parser from losing calls over TLS: body bytes that arrive while it is paused for write
 * backpressure end the connection (about 1 call in 4,000). A high mark keeps that pause away. Node has no public
 * way to set the mark of a socket it made.
 */
function raiseWriteMark(socket: TLSSocket): void {
  const { _writableState: state } = socket as unknown as { _writableState?: { highWaterMark: number } };
  if (state !== undefined) state.highWaterMark = TLS_WRITE_MARK_BYTES;
}

function startListening(server: Server, { host, port }: { host: string; port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    const onError = (cause: NodeJS.ErrnoException): void => {
      const reason =
        cause.code === "EADDRINUSE"
          ? "the address is in use; stop the process that uses it or choose another port"
          : `${cause.message}; choose an address of this machine and a port that is open to you`;
      reject(new Error(`cannot listen on ${host}:${port}: ${reason}`, { cause }));
    };
    server.once("error", onError);
    server.listen({ host, port }, () => {
      server.off("error", onError);
      // A connection that cannot be accepted (no file handles left) is the client's loss, not the port's end.
      server.on("error", () => {});
      resolve();
    });
  });
}
