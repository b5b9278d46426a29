/** Certifies a server of the contract: the suite as a library, for a subject's own tests. */

export { type Catalogue, type CatalogueEntry, readCatalogue } from "./catalogue/catalogue.js";
export { type Profile, profiles } from "./catalogue/profile.js";
export {
  type ConformanceFile,
  checkConformanceFile,
  FixtureError,
  readConformanceFile,
} from "./fixture/conformance-file.js";
export { terminalReport } from "./report/terminal.js";
export type { RunResult } from "./runner/result.js";
export { type ConformanceOptions, runConformance } from "./runner/run-conformance.js";
export type { CheckResult, Verdict } from "./runner/verdict.js";
export { type ProcessSubject, StartError, startSubject } from "./subject/process-subject.js";
