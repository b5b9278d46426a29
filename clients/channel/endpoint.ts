/** Where a server is. A contract's `Endpoint` message fits. */
export interface EndpointOptions {
  /** `http://host:port` for plaintext HTTP/2, `https://host:port` for TLS, `unix:///path`. */
  readonly url: string;
  /** Certificates to trust, PEM. Absent or empty: the machine's own roots. */
  readonly caPem?: string;
  /** What to show a server that asks who calls (mutual TLS), PEM. */
  readonly clientCert?: { readonly certPem: string; readonly keyPem: string };
}

/** A parsed {@link EndpointOptions}. */
export interface Endpoint {
  /** The URL, for messages. */
  readonly target: string;
  /** Path of a socket file, or where the server listens. */
  readonly address:
    | { readonly path: string }
    | { readonly host: string; readonly port: number; readonly secure: boolean };
  /** The `:authority` of calls. */
  readonly authority: string;
  readonly caPem: string | undefined;
  readonly clientCert: EndpointOptions["clientCert"];
}

const EXPECTED = "an endpoint is http://host:port, https://host:port or unix:///path";

/**
 * Reads an endpoint.
 *
 * @throws Error - The URL is none of the three forms. The URL is quoted only where it can hold no credentials.
 */
export function parseEndpoint(options: EndpointOptions): Endpoint {
  const { url } = options;
  const caPem = options.caPem === "" ? undefined : options.caPem;
  if (url.startsWith("unix://")) {
    const path = url.slice("unix://".length);
    if (!path.startsWith("/")) throw new Error(`${EXPECTED}; found "${url}", whose path is not absolute`);
    return { target: url, address: { path }, authority: "localhost", caPem, clientCert: options.clientCert };
  }
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch (cause) {
    throw new Error(`${EXPECTED}; found a text that is no URL`, { cause });
  }
  const { protocol, pathname, search, hash, hostname } = parsed;
  if (parsed.username !== "" || parsed.password !== "") {
    throw new Error(`${EXPECTED}; found a user or password in it: send credentials as headers`);
  }
  const secure = protocol === "https:";
  if ((!secure && protocol !== "http:") || hostname === "" || `${pathname}${search}${hash}`.length > 1) {
    throw new Error(`${EXPECTED}; found "${url}"`);
  }
  const port = parsed.port === "" ? (secure ? 443 : 80) : Number(parsed.port);
  const host = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
  return {
    target: `${protocol}//${hostname}:${port}`,
    address: { host, port, secure },
    authority: `${hostname}:${port}`,
    caPem,
    clientCert: options.clientCert,
  };
}
