import { Feature } from "../../gen/index.js";
import type { CatalogueEntry } from "../catalogue/catalogue.js";
import type { Check } from "../check/check.js";
import type { Verdict } from "./verdict.js";

/** What decides whether a check is run. */
export interface PlanContext {
  /** Declared in Describe. */
  readonly features: ReadonlySet<Feature>;
  /** `process`, `sandboxed`, `web`, a driver's name. */
  readonly circumstances: ReadonlySet<string>;
  /** The subject's capacity may be filled. */
  readonly storms: boolean;
  /** What can harm others' sessions may run. */
  readonly destructive: boolean;
  /** Checks that take minutes run. */
  readonly slow: boolean;
}

/** A check that is not run, and how it counts. */
export interface Skipped {
  readonly verdict: Extract<Verdict, "not-applicable" | "needs-input">;
  readonly reason: string;
}

/** A check that asks for nothing in particular: for clauses judged without one of their own. */
export const anyCheck: Pick<Check<never>, "features" | "lane" | "destructive" | "slow"> = {
  features: [],
  lane: "parallel",
  destructive: false,
  slow: false,
};

/** Why a check is not run; undefined: it is. */
export function skipped(
  check: Pick<Check<never>, "features" | "lane" | "destructive" | "slow">,
  entry: CatalogueEntry,
  context: PlanContext,
): Skipped | undefined {
  const undeclared = [...entry.conditions, ...check.features.map((feature) => Feature[feature])].find(
    (condition) => !holds(condition, context),
  );
  if (undeclared !== undefined) {
    const isFeature = undeclared in Feature;
    const reason = isFeature ? `the subject does not declare ${undeclared}` : `not ${undeclared} here`;
    return { verdict: "not-applicable", reason };
  }
  if (check.lane === "process" && !context.circumstances.has("process")) {
    return { verdict: "not-applicable", reason: "the runner did not start the subject: give --exec" };
  }
  if (check.lane === "capacity" && !context.storms) {
    return {
      verdict: "needs-input",
      reason: "it fills the subject: conformance.yaml would say storms: true",
    };
  }
  if (check.destructive && !context.destructive) {
    return { verdict: "needs-input", reason: "it may harm others' sessions: give --allow-destructive" };
  }
  if (check.slow && !context.slow) {
    return { verdict: "needs-input", reason: "it takes minutes: give --slow" };
  }
  return undefined;
}

function holds(condition: string, { features, circumstances }: PlanContext): boolean {
  const feature = Feature[condition as keyof typeof Feature];
  return feature === undefined ? circumstances.has(condition) : features.has(feature);
}
