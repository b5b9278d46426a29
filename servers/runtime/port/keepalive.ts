import type { ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import type { PortKeepalive } from "./port-options.js";

/**
 * Ends an HTTP/2 connection whose peer has vanished without a word (a pulled cable, a killed machine), so that its
 * calls are cancelled. A peer that has sent anything since the last look is alive and not asked.
 */
export function keepAlive(
  session: ServerHttp2Session,
  socket: Socket,
  { intervalMs, timeoutMs }: PortKeepalive,
): void {
  let bytesSeen = -1;
  let verdict: NodeJS.Timeout | undefined;
  const look = setInterval(() => {
    const { bytesRead } = socket;
    const silent = bytesRead === bytesSeen;
    bytesSeen = bytesRead;
    if (!silent || verdict !== undefined || session.destroyed) return;
    // The socket, not the session: a session that is closing would wait for a peer that does not answer.
    verdict = setTimeout(() => socket.destroy(), timeoutMs).unref();
    session.ping(() => {
      clearTimeout(verdict);
      verdict = undefined;
    });
  }, intervalMs).unref();
  socket.once("close", () => {
    clearInterval(look);
    clearTimeout(verdict);
  });
}
