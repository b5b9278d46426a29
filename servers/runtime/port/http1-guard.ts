import type { IncomingMessage, ServerResponse } from "node:http";

/** How long the rest of a refused request may take to arrive before its connection is ended. */
const REST_MS = 5_000;

/**
 * Keeps an HTTP/1.1 connection usable when a call is answered before its body was read.
 *
 * connect-node may answer early (a limit, a second message, a wrong content type). The connection is then left
 * paused or half dead, and the NEXT call on it hangs. So: leaving the body's iteration does not destroy the request,
 * and once the answer is out the rest of the body is read and dropped.
 */
export function guardHttp1Call(request: IncomingMessage, response: ServerResponse): void {
  request[Symbol.asyncIterator] = () => request.iterator({ destroyOnReturn: false });
  response.once("finish", () => {
    if (request.readableEnded) return;
    setImmediate(() => {
      // What is left of the iteration would keep the stream from flowing.
      request.removeAllListeners("readable");
      setImmediate(() => request.resume());
    });
    const { socket } = request;
    setTimeout(() => {
      // Where the request is complete, the connection may be serving the next call already.
      if (!request.complete) socket.destroy();
    }, REST_MS).unref();
  });
}
