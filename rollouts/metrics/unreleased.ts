import type { RunSummary } from "./summaries.js";

/** What a run left at a server. */
export interface Unreleased {
  /** `environment_session`, `agent_session`, `gateway`, `episode`. */
  readonly kind: string;
  /** Name of the server. */
  readonly server: string;
  /** Where that is, where another endpoint than the server's own was told; else null. */
  readonly url: string | null;
  readonly count: number;
}

/**
 * What the episodes of a run left, by kind and server. What an attempt left its successor was handed: an episode's newest
 * attempt tells what is left of all.
 */
export function unreleasedOf({ rollouts, failures }: RunSummary): readonly Unreleased[] {
  const newest = new Map<string, RunSummary["rollouts"][number] | RunSummary["failures"][number]>();
  for (const each of [...failures, ...rollouts]) {
    const before = newest.get(each.rolloutId);
    if (before === undefined || each.attempt >= before.attempt) newest.set(each.rolloutId, each);
  }
  const counts = new Map<string, Unreleased>();
  for (const { kind, server, url } of [...newest.values()].flatMap(({ unreleased }) => unreleased)) {
    const key = JSON.stringify([kind, server, url]);
    counts.set(key, { kind, server, url, count: (counts.get(key)?.count ?? 0) + 1 });
  }
  return [...counts.values()];
}
