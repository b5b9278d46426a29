import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http2";

/** Names the transport itself writes, or that HTTP/2 forbids: dropped when a service sets them. */
const RESERVED = new Set([
  "connection",
  "content-length",
  "content-type",
  "host",
  "http2-settings",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** The request's headers as a web `Headers`, without HTTP/2's pseudo-headers. */
export function requestHeaders(incoming: IncomingHttpHeaders): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(incoming)) {
    if (value === undefined || name.startsWith(":")) continue;
    if (typeof value === "string") headers.append(name, value);
    else for (const one of value) headers.append(name, one);
  }
  return headers;
}

/**
 * Adds what a service has set to the headers or trailers that go out.
 *
 * `-bin` values go out one line each and without padding: `Headers` joins them with commas, and not every client
 * splits them again.
 *
 * @returns Whether anything was added.
 */
export function addMetadata(target: OutgoingHttpHeaders, metadata: Headers | undefined): boolean {
  if (metadata === undefined) return false;
  let added = false;
  for (const [name, value] of metadata) {
    if (RESERVED.has(name) || name.startsWith("grpc-")) continue;
    added = true;
    if (name === "set-cookie") target[name] = metadata.getSetCookie();
    else if (name.endsWith("-bin")) append(target, name, binaryValues(value));
    else append(target, name, [value]);
  }
  return added;
}

function append(target: OutgoingHttpHeaders, name: string, values: readonly string[]): void {
  const before = target[name];
  const all = before === undefined ? values : [before, values].flat().map(String);
  target[name] = all.length === 1 ? all[0] : [...all];
}

function binaryValues(joined: string): string[] {
  return joined.split(",").map((value) => value.trim().replace(/=+$/, ""));
}
