import { readFileSync } from "node:fs";
import type { Target } from "../../conformance/subject/connection.js";
import { ConfigError } from "../../servers/composition/config-error.js";

/** How a command line says where a subject is and what it asks of every call. */
export interface TargetFlags {
  readonly header: readonly string[];
  readonly ca?: string;
  readonly clientCert?: string;
  readonly clientKey?: string;
}

/** The target at a URL; `host:port` alone is one without TLS. Throws ConfigError. */
export function targetOf(
  url: string,
  flags: TargetFlags,
  fileHeaders: Readonly<Record<string, string>> = {},
): Target {
  const whole = /^[^/]+:\d+$/.test(url) ? `http://${url}` : url;
  if (!/^https?:\/\/[^/]+/.test(whole)) {
    throw new ConfigError([`--target: expected http://host:port or https://host:port, found ${url}`]);
  }
  const [ca, cert, key] = [
    pem("--ca", flags.ca),
    pem("--client-cert", flags.clientCert),
    pem("--client-key", flags.clientKey),
  ];
  return {
    url: whole,
    headers: { ...fileHeaders, ...Object.fromEntries(flags.header.map(headerOf)) },
    tls: {
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
    },
  };
}

function headerOf(text: string): [string, string] {
  const [name = "", ...value] = text.split(":");
  if (name.trim() === "" || value.length === 0) {
    throw new ConfigError(["--header: expected name:value, found a text without a colon"]);
  }
  return [name.trim().toLowerCase(), value.join(":").trim()];
}

function pem(option: string, path: string | undefined): Buffer | undefined {
  if (path === undefined) return undefined;
  try {
    return readFileSync(path);
  } catch {
    throw new ConfigError([`${option}: ${path} cannot be read; give a PEM file`]);
  }
}
