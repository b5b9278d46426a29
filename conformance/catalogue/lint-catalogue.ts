import { FailureKind } from "../../gen/index.js";
import type { Check } from "../check/check.js";
import type { Watch } from "../check/watch.js";
import type { Catalogue, CatalogueEntry } from "./catalogue.js";
import type { Profile } from "./profile.js";

/** A check as the lint sees it. */
type Judged = Pick<Check<never>, "id" | "clause"> | Pick<Watch, "id" | "clause">;

/** What is linted. */
export interface LintSubject {
  readonly catalogue: Catalogue;
  /** Checks and watches of each profile that has cases. */
  readonly checks: ReadonlyMap<Profile, readonly Judged[]>;
}

/** Whether a sentence demands a refusal: the catalogue must say which. Kinds of failures are named alike. */
function demandsRefusal(sentence: string): boolean {
  if (/\b(is|are) refused\b|\brefused [A-Z]/.test(sentence)) return true;
  return [...sentence.matchAll(/\bis ([A-Z]+_[A-Z_]+|NOT_FOUND)\b/g)].some(
    ([, name = ""]) => !Object.hasOwn(FailureKind, name),
  );
}

/**
 * One sentence for each thing that is wrong: a clause that nothing judges and nobody excuses, a check of no clause, a
 * refusal whose code nobody wrote down.
 */
export function lintCatalogue({ catalogue, checks }: LintSubject): string[] {
  return [
    ...catalogue.orphans.map((id) => `${id} in conformance/requirements is no clause of a proto comment.`),
    ...[...checks].flatMap(([profile, judged]) => [
      ...duplicates(profile, judged),
      ...judged.flatMap((check) => strays(catalogue, profile, check)),
    ]),
    ...[...catalogue.entries.values()].flatMap((entry) => unjudged(entry, checks)),
  ];
}

function duplicates(profile: Profile, judged: readonly Judged[]): string[] {
  const seen = new Set<string>();
  return judged.flatMap(({ id }) => {
    if (seen.has(id)) return [`${profile} has two checks ${id}.`];
    seen.add(id);
    return [];
  });
}

function strays(catalogue: Catalogue, profile: Profile, { id, clause }: Judged): string[] {
  const entry = catalogue.entries.get(clause);
  if (entry === undefined) return [`${profile} ${id} judges ${clause}, which is no clause.`];
  if (!entry.profiles.includes(profile)) {
    return [`${profile} ${id} judges ${clause}, which binds ${entry.profiles.join(", ")} only.`];
  }
  return entry.unobservable === undefined
    ? []
    : [`${profile} ${id} judges ${clause}, which the catalogue calls unobservable.`];
}

function unjudged(entry: CatalogueEntry, checks: LintSubject["checks"]): string[] {
  if (entry.unobservable !== undefined || entry.level !== "MUST") return [];
  const problems: string[] = [];
  const profiles = entry.profiles.filter((profile) => checks.has(profile));
  for (const profile of profiles) {
    const judged = checks.get(profile)?.some(({ clause }) => clause === entry.id) ?? false;
    const excused = entry.planned?.[profile] !== undefined;
    if (!judged && !excused)
      problems.push(`${entry.id} has no check in ${profile}, and no \`planned\` says why.`);
    if (judged && excused)
      problems.push(`${entry.id} has a check in ${profile}: its \`planned\` is out of date.`);
  }
  if (profiles.length > 0 && demandsRefusal(entry.sentence) && entry.expects === undefined) {
    problems.push(`${entry.id} demands a refusal: say its code and reason in \`expects\`.`);
  }
  return problems;
}
