import type { IncomingHttpHeaders } from "node:http";
import { isIP } from "node:net";
import { cors } from "@connectrpc/connect";

/** What the guard looks at, whatever the protocol. */
export interface WebRequest {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  /** `Host`, or HTTP/2's `:authority`. */
  readonly authority: string | undefined;
  /** The address the connection came in on. */
  readonly localAddress: string | undefined;
}

/** What to do with a request. */
export type WebVerdict =
  | { readonly kind: "refuse"; readonly status: 403; readonly reason: string }
  | { readonly kind: "preflight"; readonly headers: Readonly<Record<string, string>> }
  | { readonly kind: "serve"; readonly headers: Readonly<Record<string, string>> };

/** Decides which requests of web pages may reach a handler. */
export interface WebGuard {
  /** Judges an HTTP/1.1 request, or an HTTP/2 request that is not gRPC's. */
  judge(request: WebRequest): WebVerdict;
  /** Judges the origin alone: all that a gRPC request has to tell. */
  originAllowed(origin: string | undefined): boolean;
}

const PREFLIGHT_SECONDS = "7200";

/**
 * Keeps web pages away from the port: a request of a foreign Origin, or one that names a foreign Host (DNS
 * rebinding), is refused before any handler runs (ALL-WEB-001). An allowed origin gets CORS headers that name it;
 * a wildcard is never sent (ALL-WEB-002).
 *
 * @param host - The name or address the port listens on.
 */
export function createWebGuard(
  host: string,
  allowedOrigins: readonly string[],
  allowedHosts: readonly string[],
): WebGuard {
  const origins = new Set(allowedOrigins.map((origin) => origin.toLowerCase()));
  const hosts = new Set([host, ...allowedHosts].map((name) => name.toLowerCase()));

  function originAllowed(origin: string | undefined): boolean {
    return origin === undefined || origins.has(origin.toLowerCase());
  }

  function hostAllowed(authority: string, localAddress: string | undefined): boolean {
    const parsed = parseAuthority(authority);
    if (parsed === undefined) return false;
    const { name } = parsed;
    return (
      name === "localhost" ||
      name === "::1" ||
      (isIP(name) === 4 && name.startsWith("127.")) ||
      name === localAddress?.replace(/^::ffff:/, "") ||
      hosts.has(name) ||
      hosts.has(authority.toLowerCase())
    );
  }

  return {
    originAllowed,
    judge({ method, headers, authority, localAddress }) {
      if (authority === undefined || !hostAllowed(authority, localAddress)) {
        return refusal(`expected a Host that is this server's, found ${quote(authority)}; allow it by name`);
      }
      const { origin } = headers;
      if (origin === undefined) return { kind: "serve", headers: {} };
      if (!originAllowed(origin)) {
        return refusal(`expected no Origin or an allowed one, found ${quote(origin)}; allow it by name`);
      }
      if (method === "OPTIONS") return { kind: "preflight", headers: preflightHeaders(origin, headers) };
      return {
        kind: "serve",
        headers: {
          "access-control-allow-origin": origin,
          "access-control-expose-headers": cors.exposedHeaders.join(", "),
          vary: "Origin",
        },
      };
    },
  };
}

function refusal(reason: string): WebVerdict {
  return { kind: "refuse", status: 403, reason };
}

function quote(value: string | undefined): string {
  return value === undefined ? "none" : JSON.stringify(value);
}

/** Metadata has any name: an allowed origin may send what its page asks to send. */
function preflightHeaders(origin: string, headers: IncomingHttpHeaders): Record<string, string> {
  const asked = headers["access-control-request-headers"];
  return {
    "access-control-allow-origin": origin,
    "access-control-allow-methods": cors.allowedMethods.join(", "),
    "access-control-allow-headers": [...cors.allowedHeaders, ...(asked === undefined ? [] : [asked])].join(
      ", ",
    ),
    "access-control-max-age": PREFLIGHT_SECONDS,
    vary: "Origin, Access-Control-Request-Headers",
  };
}

/** The lower-case name of an authority, without brackets; undefined for what is no authority. */
function parseAuthority(authority: string): { name: string } | undefined {
  const match = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9_.-]+))(?::(\d{1,5}))?$/i.exec(authority);
  const name = match?.[1] ?? match?.[2];
  if (name === undefined || Number(match?.[3] ?? 0) > 65_535) return undefined;
  return { name: name.toLowerCase() };
}
