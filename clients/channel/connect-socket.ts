import { connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Endpoint } from "./endpoint.js";

/** A peer that goes without a word is found by the kernel too, where it is the next hop. */
const TCP_KEEPALIVE_MS = 20_000;

/** Begins a connection for HTTP/2. The socket tells `connect` or `secureConnect` when it is up, or `error`. */
export function connectSocket(endpoint: Endpoint): Socket {
  const { address, caPem, clientCert } = endpoint;
  if ("path" in address) return connectTcp({ path: address.path });
  const { host, port } = address;
  const tcp = { host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: TCP_KEEPALIVE_MS };
  if (!address.secure) return connectTcp(tcp);
  return connectTls({
    ...tcp,
    ALPNProtocols: ["h2"],
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ...(caPem === undefined ? {} : { ca: caPem }),
    ...(clientCert === undefined ? {} : { cert: clientCert.certPem, key: clientCert.keyPem }),
  });
}

/** Advice by what the error of a failed connection says. */
const ADVICE: readonly (readonly [RegExp, string])[] = [
  [/ECONNREFUSED/, "nothing listens there: start the server, or correct the port"],
  [/ENOENT/, "there is no such socket file: start the server, or correct the path"],
  [/ENOTFOUND|EAI_AGAIN|Name resolution/, "the name has no address: correct the host"],
  [/ETIMEDOUT|EHOSTUNREACH|ENETUNREACH/, "the host cannot be reached"],
  [/wrong version number|packet length too long|bad record type/i, "the server speaks no TLS: use http://"],
  [
    /CERT|self[- ]signed|certificate|unable to (get|verify)/i,
    "the server's certificate is not trusted, or ours not by it: set caPem or clientCert",
  ],
  [/alert|ALPN/i, "the server refused the TLS handshake: it may want a client certificate, or lack HTTP/2"],
  [
    /NGHTTP2|HTTP2|Protocol error|ECONNRESET|EPIPE|hang up|closed|Failed to connect/i,
    "what answers there does not speak HTTP/2 in plain text: it may be an HTTP/1.1 server, or one that wants https://",
  ],
];

/** OpenSSL tells where in its source it was; only what happened matters. */
const OPENSSL = /^.*:error:[0-9A-F]+:[^:]*:[^:]*:([^:]+):.*$/s;

/** What went wrong with a connection, and what to do about it. */
export function explainConnectFailure(found: string): string {
  const what = found.replace(OPENSSL, "TLS: $1").trim();
  const advice = ADVICE.find(([pattern]) => pattern.test(what))?.[1];
  return advice === undefined ? `no connection: ${what}` : `no connection: ${what}; ${advice}`;
}
