import type { Catalogue } from "../catalogue/catalogue.js";
import { chosen } from "./pattern.js";
import { type PlanContext, type Skipped, skipped } from "./plan.js";
import type { ProfileSuite } from "./profile-suite.js";

/** A check and whether it would run. */
export interface PlannedCheck {
  readonly check: string;
  readonly clause: string;
  readonly title: string;
  readonly stacks: readonly string[];
  /** Why it would not run; undefined: it would. */
  readonly skip: Skipped | undefined;
}

/** What a run of these patterns would do to a subject that is what `plan` says. */
export function planRun(
  suite: ProfileSuite,
  { catalogue, plan, patterns }: { catalogue: Catalogue; plan: PlanContext; patterns: readonly string[] },
): PlannedCheck[] {
  return suite.checks
    .filter((check) => chosen(patterns, check))
    .flatMap((check) => {
      const entry = catalogue.entries.get(check.clause);
      if (entry === undefined) return [];
      const { id, clause, title, stacks } = check;
      return [{ check: id, clause, title, stacks, skip: skipped(check, entry, plan) }];
    });
}
