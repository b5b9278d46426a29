import { type Channel, http2Channel } from "../../clients/index.js";

/** Where a peer is. */
export interface PeerEndpoint {
  readonly url: string;
  /** Certificates to trust, PEM; empty or absent: the machine's own. */
  readonly caPem?: string;
  /** What to show a server that asks who calls (mutual TLS), PEM; absent: nothing. */
  readonly clientCert?: { readonly certPem: string; readonly keyPem: string };
}

/** An endpoint that a peer told is the same peer's: it is shown who calls as that one is (mutual TLS). */
export function toldBy({ clientCert }: PeerEndpoint, endpoint: PeerEndpoint): PeerEndpoint {
  return clientCert === undefined ? endpoint : { ...endpoint, clientCert };
}

/** A channel to a peer; the same one for the same endpoint. */
export type Dial = (endpoint: PeerEndpoint) => Channel;

/** Channels of a server to its peers, shared by all its sessions, since a connection costs more than a call. */
export class Channels implements AsyncDisposable {
  readonly #channels = new Map<string, Channel>();

  readonly dial: Dial = ({ url, caPem = "", clientCert }) => {
    const key = [url, caPem, clientCert?.certPem, clientCert?.keyPem].join("\n");
    let channel = this.#channels.get(key);
    if (channel === undefined) {
      channel = http2Channel({
        url,
        ...(caPem === "" ? {} : { caPem }),
        ...(clientCert === undefined ? {} : { clientCert }),
      });
      this.#channels.set(key, channel);
    }
    return channel;
  };

  async [Symbol.asyncDispose](): Promise<void> {
    const channels = [...this.#channels.values()];
    this.#channels.clear();
    await Promise.all(channels.map((channel) => channel.close()));
  }
}
