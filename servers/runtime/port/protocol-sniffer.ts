import type { Socket } from "node:net";

/** How long a connection may stay silent before it is ended. */
const SILENCE_MS = 10_000;

/** The start of HTTP/2's preface, `PRI * HTTP/2.0`. No HTTP/1.1 method begins so. */
const PREFACE = Buffer.from("PRI");

/** Sorts plaintext connections by protocol. */
export interface ProtocolSniffer {
  /** Takes a fresh plaintext connection and hands it on once its first bytes tell the protocol. */
  accept(socket: Socket): void;
  /** Ends the connections that have not told yet. */
  destroyUndecided(): void;
}

/** Tells HTTP/2 with prior knowledge from HTTP/1.1 by the first three bytes. */
export function createProtocolSniffer(handOn: {
  http1(socket: Socket): void;
  http2(socket: Socket): void;
}): ProtocolSniffer {
  const undecided = new Set<Socket>();

  function accept(socket: Socket): void {
    undecided.add(socket);
    let seen: Buffer = Buffer.alloc(0);
    const timer = setTimeout(() => socket.destroy(), SILENCE_MS).unref();
    const leave = (): void => {
      clearTimeout(timer);
      undecided.delete(socket);
      socket.off("readable", onReadable).off("error", onError).off("end", onEnd).off("close", leave);
    };
    const onError = (): void => {};
    const onEnd = (): void => {
      socket.destroy();
    };
    const onReadable = (): void => {
      for (let chunk: Buffer | null = socket.read(); chunk !== null; chunk = socket.read()) {
        seen = seen.length === 0 ? chunk : Buffer.concat([seen, chunk]);
      }
      const compared = Math.min(seen.length, PREFACE.length);
      const isHttp2 = seen.subarray(0, compared).equals(PREFACE.subarray(0, compared));
      if (isHttp2 && compared < PREFACE.length) return;
      leave();
      socket.unshift(seen);
      if (isHttp2) handOn.http2(socket);
      else handOn.http1(socket);
    };
    socket.on("readable", onReadable).on("error", onError).on("end", onEnd).on("close", leave);
  }

  return {
    accept,
    destroyUndecided() {
      for (const socket of undecided) socket.destroy();
    },
  };
}
