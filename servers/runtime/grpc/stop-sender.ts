import { constants, type ServerHttp2Stream } from "node:http2";

const LONGEST_WAIT_MS = 100;

/**
 * Tells a client that is still sending to stop, by RST_STREAM NO_ERROR, once our END_STREAM is out.
 *
 * Earlier would be wrong: nghttp2 drops the queued trailers when the stream is reset, and the client sees the
 * reset instead of the status. Node has no event for "END_STREAM is out", hence the polling.
 */
export function stopSender(stream: ServerHttp2Stream, waitMs = 0): void {
  const look = (): void => {
    if (stream.destroyed || stream.closed) return;
    if (stream.state.localClose === 1) stream.close(constants.NGHTTP2_NO_ERROR);
    else stopSender(stream, Math.min(waitMs * 2 || 1, LONGEST_WAIT_MS));
  };
  if (waitMs > 0) setTimeout(look, waitMs).unref();
  else setImmediate(look);
}
