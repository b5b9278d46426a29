import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { type Channel, http2Channel } from "../clients/index.js";
import { ConfigError } from "../servers/composition/config-error.js";

/** How a server is reached, as a command line says it. */
export interface ReachFlags {
  readonly credential?: string;
  readonly ca?: string;
  readonly clientCert?: string;
  readonly clientKey?: string;
}

/** Adds the options by which a command reaches a server. */
export function withReachOptions(command: Command): Command {
  return command
    .option("--credential <token>", "bearer token; others on this machine may see it while the command runs")
    .option("--ca <file>", "PEM file of certificates to trust; absent: the machine's own")
    .option("--client-cert <file>", "PEM file of the certificate to show a server that asks who calls")
    .option("--client-key <file>", "PEM file of its private key");
}

/** A channel to a server; `host:port` alone is one without TLS. Throws ConfigError. */
export function openChannel(url: string, { ca, clientCert, clientKey }: ReachFlags): Channel {
  if ((clientCert === undefined) !== (clientKey === undefined)) {
    throw new ConfigError(["expected both of --client-cert and --client-key, found one"]);
  }
  const whole = /^[^/]+:\d+$/.test(url) ? `http://${url}` : url;
  const shown =
    clientCert === undefined || clientKey === undefined
      ? {}
      : { clientCert: { certPem: pem("--client-cert", clientCert), keyPem: pem("--client-key", clientKey) } };
  try {
    return http2Channel({ url: whole, ...(ca === undefined ? {} : { caPem: pem("--ca", ca) }), ...shown });
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throw new ConfigError([error instanceof Error ? error.message : String(error)]);
  }
}

function pem(option: string, file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    throw new ConfigError([`${option}: ${file} cannot be read; give a PEM file`]);
  }
}

/** Headers of every call. */
export function reachHeaders({ credential }: ReachFlags): Readonly<Record<string, string>> {
  return credential === undefined ? {} : { authorization: `Bearer ${credential}` };
}
