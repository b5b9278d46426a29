import { type Channel, http2Channel } from "../../clients/index.js";

/** Where a peer is. */
export interface PeerEndpoint {
  readonly url: string;
  /** Certificates to trust, PEM; empty or absent: the machine's own. */
  readonly caPem?: string;
}

/** A channel to a peer; the same one for the same endpoint. */
export type Dial = (endpoint: PeerEndpoint) => Channel;

/** Channels of a server to its peers, shared by all its sessions, since a connection costs more than a call. */
export class Channels implements AsyncDisposable {
  readonly #channels = new Map<string, Channel>();

  readonly dial: Dial = ({ url, caPem = "" }) => {
    const key = `${url}\n${caPem}`;
    let channel = this.#channels.get(key);
    if (channel === undefined) {
      channel = http2Channel({ url, ...(caPem === "" ? {} : { caPem }) });
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
