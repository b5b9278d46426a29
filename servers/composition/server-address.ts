import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { createSecureContext } from "node:tls";
import type { PeerAddress } from "../episode/peers.js";
import { chosenValue } from "./check-servers.js";
import { choose } from "./choose.js";
import { ConfigError } from "./config-error.js";
import type { Config } from "./load-config.js";
import type { ServerEntry } from "./server-schema.js";

/** A server of a configuration by its name. */
export interface NamedServer {
  readonly name: string;
  readonly server: ServerEntry;
}

/** `host:port`, `[::1]:port`. */
export function listenOf(listen: string | undefined): { readonly host?: string; readonly port?: number } {
  return listen === undefined ? {} : hostAndPort(listen);
}

/** Whether only this machine reaches a server that listens there. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127\.\d+\.\d+\.\d+$/.test(host);
}

/** The parts of `host:port`. */
export function hostAndPort(text: string): { readonly host: string; readonly port: number } {
  const at = text.lastIndexOf(":");
  return { host: text.slice(0, at).replace(/^\[|\]$/g, ""), port: Number(text.slice(at + 1)) };
}

/** A path of the configuration, from where it stands. */
export function pathIn(config: Config, path: string): string {
  return resolve(config.folder, path);
}

/**
 * How a server at `url` is called: with its credential and client certificate, trusting what the configuration trusts.
 * Throws ConfigError.
 */
export function addressOf(config: Config, { name, server }: NamedServer, url: string): PeerAddress {
  const { credential } = server.entry;
  const trusted = server.entry.ca ?? server.entry.tls?.cert;
  return {
    url,
    ...(credential === undefined ? {} : { credential }),
    ...(trusted === undefined ? {} : { caPem: pemIn(config, name, trusted) }),
    ...clientCertOf(config, { name, server }),
  };
}

/** What a server is shown that asks who calls. Throws ConfigError, without a word of the key itself. */
function clientCertOf(config: Config, { name, server }: NamedServer): Pick<PeerAddress, "clientCert"> {
  const { client_cert: files } = server.entry;
  if (files === undefined) return {};
  const certPem = pemIn(config, name, files.cert);
  const keyPem = pemIn(config, name, files.key);
  try {
    createSecureContext({ cert: certPem, key: keyPem });
  } catch {
    throw new ConfigError([
      `${config.file}: servers.${name}.client_cert: ${files.cert} and ${files.key} are no certificate and its key; give PEM files that belong together`,
    ]);
  }
  return { clientCert: { certPem, keyPem } };
}

/** Where a server that is not started here is: at its URL, or where it listens once it does; else nobody knows. */
export function addressElsewhere(config: Config, named: NamedServer): PeerAddress | undefined {
  const chosen = choose(chosenValue(named.server));
  if (chosen.way === "url") return addressOf(config, named, chosen.url);
  const { listen, tls, public_url: publicUrl } = named.server.entry;
  if (publicUrl !== undefined) return addressOf(config, named, publicUrl);
  if (listen === undefined) return undefined;
  return addressOf(config, named, `${tls === undefined ? "http" : "https"}://${listen}`);
}

function pemIn(config: Config, name: string, path: string): string {
  try {
    return readFileSync(pathIn(config, path), "utf8");
  } catch {
    throw new ConfigError([`${config.file}: servers.${name}: ${path} cannot be read; give a PEM file`]);
  }
}

/** TLS of a server that is started here. */
export function tlsOf(
  config: Config,
  { entry }: ServerEntry,
): { readonly cert: string; readonly key: string; readonly clientCa?: string } | undefined {
  if (entry.tls === undefined) return undefined;
  const { cert, key, client_ca: clientCa } = entry.tls;
  return {
    cert: pathIn(config, cert),
    key: pathIn(config, key),
    ...(clientCa === undefined ? {} : { clientCa: pathIn(config, clientCa) }),
  };
}
