import { readCatalogue } from "../../conformance/catalogue/catalogue.js";
import type { Profile } from "../../conformance/catalogue/profile.js";
import { fits } from "../../conformance/runner/pattern.js";
import { judgesOf, runnableProfiles } from "../../conformance/runner/suites.js";
import { ConfigError } from "../../servers/composition/config-error.js";

/** A clause as `list --json` tells it. */
export interface ListedClause {
  readonly id: string;
  readonly level: string;
  readonly sentence: string;
  readonly profiles: readonly Profile[];
  /** `core`, or the conditions under which it applies. */
  readonly applies: readonly string[];
  readonly observable: boolean;
  /** Why it is not observable; empty: it is. */
  readonly unobservable: string;
  /** What its checks need beside the fixture's task. */
  readonly input: unknown;
  /** Ids of its checks, with the profile that they are run in. */
  readonly checks: readonly { readonly id: string; readonly profile: Profile; readonly title: string }[];
  readonly mutants: readonly string[];
}

/** The clauses that any pattern fits, by id or by a check's; of one profile where it is given. Throws ConfigError. */
export function listClauses(patterns: readonly string[], profile?: string): ListedClause[] {
  const checks = runnableProfiles.flatMap((name) =>
    judgesOf(name).map(({ id, clause, title }) => ({ id, clause, title, profile: name })),
  );
  const all = [...readCatalogue().entries.values()].map(
    (entry): ListedClause => ({
      id: entry.id,
      level: entry.level,
      sentence: entry.sentence,
      profiles: entry.profiles,
      applies: entry.conditions.length === 0 ? ["core"] : entry.conditions,
      observable: entry.unobservable === undefined,
      unobservable: entry.unobservable ?? "",
      input: entry.input,
      checks: checks
        .filter((check) => check.clause === entry.id)
        .map(({ clause: _clause, ...check }) => check),
      mutants: entry.mutants,
    }),
  );
  const found = all.filter(
    (clause) =>
      (profile === undefined || clause.profiles.some((one) => one === profile)) &&
      (patterns.length === 0 ||
        patterns.some(
          (pattern) => fits(pattern, clause.id) || clause.checks.some(({ id }) => fits(pattern, id)),
        )),
  );
  if (found.length === 0) {
    throw new ConfigError([
      `nothing fits ${[...patterns, profile ?? ""].join(" ").trim()}; \`touchstone conformance list\` lists all`,
    ]);
  }
  return found;
}
