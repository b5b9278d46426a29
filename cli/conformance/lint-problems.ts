import { readCatalogue } from "../../conformance/catalogue/catalogue.js";
import { lintCatalogue } from "../../conformance/catalogue/lint-catalogue.js";
import { judgesOf, runnableProfiles } from "../../conformance/runner/suites.js";

/** What is wrong with the catalogue of this package. */
export function lintProblems(): string[] {
  return lintCatalogue({
    catalogue: readCatalogue(),
    checks: new Map(runnableProfiles.map((profile) => [profile, judgesOf(profile)])),
  });
}
