import type { ServerHttp2Session } from "node:http2";
import type { PortKeepalive } from "./port-options.js";

/**
 * Ends an HTTP/2 connection whose peer has vanished without a word (a pulled cable, a killed machine), so that its
 * calls are cancelled. A peer that has sent anything since the last look is alive and not asked.
 */
export function keepAlive(session: ServerHttp2Session, { intervalMs, timeoutMs }: PortKeepalive): void {
  let bytesSeen = -1;
  let verdict: NodeJS.Timeout | undefined;
  const look = setInterval(() => {
    const { bytesRead } = session.socket;
    const silent = bytesRead === bytesSeen;
    bytesSeen = bytesRead;
    if (!silent || verdict !== undefined) return;
    verdict = setTimeout(() => session.destroy(), timeoutMs).unref();
    session.ping(() => {
      clearTimeout(verdict);
      verdict = undefined;
    });
  }, intervalMs).unref();
  session.once("close", () => {
    clearInterval(look);
    clearTimeout(verdict);
  });
}
