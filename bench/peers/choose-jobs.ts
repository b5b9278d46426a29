import type { BenchOptions } from "../options.js";
import { ownJobs } from "../plan.js";
import { pointNames } from "../points/index.js";
import { type Peers, peerNames, setUpPeers } from "./set-up-peers.js";

/**
 * The figures that were asked for: ours, the echoes', and the peers'.
 *
 * @throws Error - A name is neither a point nor a peer.
 */
export async function chooseJobs({ only, peers }: BenchOptions): Promise<Peers> {
  const known = peers === undefined ? [] : peerNames(peers);
  for (const name of only) {
    if (known.includes(name) || pointNames.some((one) => one === name)) continue;
    throw new Error(`expected names among ${[...pointNames, ...known].join(", ")}; found "${name}"`);
  }
  const wanted = (name: string): boolean => only.length === 0 || only.includes(name);
  const own = ownJobs().filter(({ target }) => wanted(target.name));
  if (peers === undefined) return { jobs: own, skipped: [] };
  const others = await setUpPeers(peers, known.filter(wanted));
  return { jobs: [...own, ...others.jobs], skipped: others.skipped };
}
