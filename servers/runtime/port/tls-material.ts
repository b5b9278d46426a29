import { readFileSync } from "node:fs";
import { createSecureContext, type TlsOptions } from "node:tls";
import type { PortTls } from "./port-options.js";

/**
 * Reads and checks the TLS material of a port.
 *
 * @throws Error - Naming the file, or the string's role, that cannot be read or used.
 */
export function loadTls(tls: PortTls): TlsOptions {
  const cert = readPem(tls.cert, "certificate");
  const key = readPem(tls.key, "private key");
  const ca = tls.clientCa === undefined ? undefined : readPem(tls.clientCa, "client authority");
  try {
    createSecureContext({ cert, key, ...(ca === undefined ? {} : { ca }) });
  } catch (cause) {
    const sources = [
      nameOf(tls.cert),
      nameOf(tls.key),
      ...(tls.clientCa === undefined ? [] : [nameOf(tls.clientCa)]),
    ];
    throw new Error(
      `cannot use the TLS certificate and key (${sources.join(", ")}): ${reasonOf(cause)}; give a PEM certificate and its own key`,
      { cause },
    );
  }
  return { cert, key, ...(ca === undefined ? {} : { ca, requestCert: true, rejectUnauthorized: true }) };
}

function isPem(value: string): boolean {
  return value.includes("-----BEGIN ");
}

function nameOf(value: string): string {
  return isPem(value) ? "PEM text" : value;
}

function readPem(value: string, role: string): string {
  if (isPem(value)) return value;
  let text: string;
  try {
    text = readFileSync(value, "utf8");
  } catch (cause) {
    throw new Error(
      `cannot read the TLS ${role} file ${value}: ${reasonOf(cause)}; give a readable PEM file`,
      {
        cause,
      },
    );
  }
  if (!isPem(text)) throw new Error(`expected PEM text in the TLS ${role} file ${value}, found none`);
  return text;
}

function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
