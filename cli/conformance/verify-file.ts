import { readCatalogue } from "../../conformance/catalogue/catalogue.js";
import { certificateSchema, verifyCertificate } from "../../conformance/report/certificate.js";
import { readErrata, readSet } from "../../conformance/sets/check-sets.js";
import { readDocument } from "./read-result.js";

/** What is to be said of a certificate. Throws ConfigError where the file is none. */
export function verifyFile(path: string): { readonly text: string; readonly valid: boolean } {
  const certificate = readDocument(path, certificateSchema, "certificate");
  const { subject, profile, set, checks, coverage, judgedAt } = certificate;
  const faults = verifyCertificate(certificate, { catalogue: readCatalogue(), set: readSet(set.name) });
  const passed = checks.filter(({ verdict }) => verdict === "pass").length;
  const lines = [
    `${subject.name} ${subject.version}, profile ${profile}, set ${set.name}, judged ${judgedAt}`,
    `${passed} of ${checks.length} checks passed; ${coverage.judged} of ${coverage.applicable} MUST clauses that apply were judged`,
    ...readErrata(set.name).map(({ check, date, ruling }) => `excluded since ${date}: ${check}: ${ruling}`),
    ...faults.map((fault) => `not valid: ${fault}`),
    faults.length === 0 ? "valid" : "not valid",
  ];
  return { text: `${lines.join("\n")}\n`, valid: faults.length === 0 };
}
