import type { ConformanceFile } from "../fixture/conformance-file.js";
import type { CheckResult } from "./verdict.js";

/** What the list of known failures made of a run. */
export interface Excused {
  readonly results: readonly CheckResult[];
  /** What is wrong with the list itself: each makes the run not conformant. */
  readonly faults: readonly { readonly check: string; readonly text: string }[];
}

/**
 * Takes known failures out of the score: a check of the list must fail, and say what the list says. One that passes,
 * fails otherwise, does not run or has expired is a fault of the list. A run with an excuse earns no certificate.
 *
 * @param today - ISO date.
 */
export function excuse(
  results: readonly CheckResult[],
  known: ConformanceFile["known_failing"],
  today: string,
): Excused {
  const faults: { check: string; text: string }[] = [];
  let excused = [...results];
  for (const { check, message, reason, expires } of known) {
    const own = excused.filter((result) => result.check === check);
    const fault = (text: string): void => void faults.push({ check, text: `known_failing: ${text}` });
    if (expires < today) fault(`expired on ${expires}`);
    else if (own.length === 0) fault("no such check ran");
    for (const result of own) {
      if (expires < today) continue;
      const said = `${result.subject} ${result.expected} ${result.actual} ${result.reason}`;
      if (result.verdict !== "fail")
        fault(`it is expected to fail, and is ${result.verdict} (${result.stack})`);
      else if (!said.includes(message)) fault(`it fails otherwise than "${message}" (${result.stack})`);
      else {
        excused = excused.map((one) =>
          one === result ? { ...one, verdict: "observed", reason: `known to fail: ${reason}` } : one,
        );
      }
    }
  }
  return { results: excused, faults };
}
