import { connect as connectTcp } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Target } from "./connection.js";

/** Why a target cannot be judged, in one paragraph. */
export interface Unreachable {
  readonly cause: "auth" | "version" | "smoke";
  readonly reason: string;
}

/** How long a socket may say nothing. */
const patienceMs = 5_000;
/** The HTTP/2 connection preface and an empty SETTINGS frame: what any HTTP/2 server answers with its own SETTINGS. */
const preface = Buffer.concat([
  Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
  Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]),
]);
const settingsFrame = 4;

type Heard =
  | { readonly kind: "refused"; readonly code: string }
  | { readonly kind: "silent" }
  | { readonly kind: "closed" }
  | { readonly kind: "bytes"; readonly bytes: Buffer };

/**
 * Looks at a target before anything is judged: does something listen, does it speak HTTP/2, is it TLS. undefined: it can
 * be spoken to.
 *
 * @param patience - How long it may say nothing, in milliseconds.
 */
export async function reach({ url, tls }: Target, patience = patienceMs): Promise<Unreachable | undefined> {
  const { hostname, port, protocol } = new URL(url);
  const secure = protocol === "https:";
  const at = { host: hostname.replace(/^\[|\]$/g, ""), port: Number(port || (secure ? 443 : 80)) };
  const where = `${at.host}:${at.port}`;
  const heard = await listen(
    () =>
      secure ? connectTls({ ...at, ...tls, ALPNProtocols: ["h2"], servername: at.host }) : connectTcp(at),
    secure ? "secureConnect" : "connect",
    patience,
  );
  const smoke = (reason: string): Unreachable => ({ cause: "smoke", reason });
  switch (heard.kind) {
    case "refused":
      return smoke(refusal(heard.code, where, secure));
    case "silent":
      return smoke(
        `${where} takes the connection and says nothing within ${patience / 1_000} s: not ready, or not HTTP/2. Raise --time-scale where it only is slow.`,
      );
    case "closed":
      return smoke(
        secure
          ? `${where} closed the connection after the TLS handshake: it does not speak HTTP/2 (ALPN h2)`
          : `${where} closed the connection at once: it may want TLS (give https://), or speak HTTP/1 only`,
      );
    case "bytes":
      return judgeBytes(heard.bytes, where, secure);
  }
}

function refusal(code: string, where: string, secure: boolean): string {
  if (code === "ECONNREFUSED") return `nothing listens at ${where}: start the server, or correct --target`;
  if (code === "ENOTFOUND" || code === "EAI_AGAIN")
    return `${where} is no address that can be found (${code})`;
  if (/CERT|SELF_SIGNED|UNABLE_TO_VERIFY/.test(code)) {
    return `the certificate of ${where} is not trusted (${code}): give its authority by --ca`;
  }
  if (secure && /SSL|EPROTO|TLS/.test(code))
    return `${where} does not speak TLS: give http:// instead of https://`;
  return `${where} cannot be reached (${code})`;
}

function judgeBytes(bytes: Buffer, where: string, secure: boolean): Unreachable | undefined {
  if (
    bytes.length >= 4 &&
    bytes[3] === settingsFrame &&
    !bytes.subarray(0, 4).toString("latin1").startsWith("HTTP")
  ) {
    return undefined;
  }
  if (bytes.subarray(0, 5).toString("latin1") === "HTTP/") {
    return { cause: "smoke", reason: `${where} speaks HTTP/1 only; gRPC wants HTTP/2` };
  }
  // A TLS alert record.
  if (!secure && bytes[0] === 0x15) {
    return { cause: "smoke", reason: `${where} speaks TLS: give https:// instead of http://` };
  }
  return {
    cause: "smoke",
    reason: `${where} answers, but not as HTTP/2 does (it began with ${bytes.subarray(0, 8).toString("hex")})`,
  };
}

function listen(open: () => ReturnType<typeof connectTcp>, ready: string, patience: number): Promise<Heard> {
  return new Promise((resolve) => {
    const socket = open();
    const done = (heard: Heard): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(heard);
    };
    const timer = setTimeout(() => done({ kind: "silent" }), patience);
    socket.once(ready, () => socket.write(preface));
    socket.once("data", (bytes) => done({ kind: "bytes", bytes }));
    socket.once("close", () => done({ kind: "closed" }));
    socket.once("error", (error) =>
      done({ kind: "refused", code: "code" in error ? String(error.code) : error.message }),
    );
  });
}
