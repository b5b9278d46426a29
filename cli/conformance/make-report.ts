import pc from "picocolors";
import { readCatalogue } from "../../conformance/catalogue/catalogue.js";
import { badge } from "../../conformance/report/badge.js";
import { certificateFaults, certificateOf } from "../../conformance/report/certificate.js";
import { htmlReport } from "../../conformance/report/html.js";
import { junitReport } from "../../conformance/report/junit.js";
import { markdownReport } from "../../conformance/report/markdown.js";
import { terminalReport } from "../../conformance/report/terminal.js";
import { currentSet } from "../../conformance/sets/check-sets.js";
import { ConfigError } from "../../servers/composition/config-error.js";
import { readResult } from "./read-result.js";

/** A report of a result document. Throws ConfigError, also where a result earns no certificate. */
export function makeReport(path: string, format: string): string {
  const result = readResult(path);
  const catalogue = readCatalogue();
  switch (format) {
    case "html":
      return htmlReport(result, catalogue);
    case "junit":
      return junitReport(result);
    case "markdown":
      return markdownReport(result, catalogue);
    case "badge":
      return badge(result);
    case "certificate": {
      const set = currentSet();
      const faults = certificateFaults(result, set);
      if (faults.length > 0) throw new ConfigError(faults.map((fault) => `no certificate: ${fault}`));
      return `${JSON.stringify(certificateOf(result, set), null, 2)}\n`;
    }
    default: {
      const command = `touchstone conformance run ${result.profile} --target ${result.subject.target}`;
      return `${terminalReport(result, { catalogue, paint: pc, rerun: { command } })}\n`;
    }
  }
}
