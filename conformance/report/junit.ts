import type { RunResult } from "../runner/result.js";
import type { CheckResult, Verdict } from "../runner/verdict.js";

const failures: ReadonlySet<Verdict> = new Set(["fail", "not-testable", "could-not-run", "inconclusive"]);
const skips: ReadonlySet<Verdict> = new Set(["not-applicable", "needs-input", "observed"]);

/** Text as XML takes it: control characters that XML forbids become U+FFFD. */
function xml(text: string): string {
  return text
    .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "\ufffd")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

function testCase(result: CheckResult): string {
  const seconds = (result.took / 1_000).toFixed(3);
  const head = `<testcase classname="${xml(result.clause)}" name="${xml(`${result.check} (${result.stack})`)}" time="${seconds}"`;
  const told =
    result.subject === ""
      ? result.reason
      : `${result.subject}\nexpected: ${result.expected}\nactual: ${result.actual}`;
  const body = (tag: string): string =>
    `${head}><${tag} message="${xml(told.split("\n")[0] ?? "")}" type="${result.verdict}">${xml(`${result.title}\n${told}`)}</${tag}></testcase>`;
  if (result.verdict === "harness-error") return body("error");
  if (failures.has(result.verdict)) return body("failure");
  if (skips.has(result.verdict))
    return `${head}><skipped message="${xml(`${result.verdict}: ${told}`)}"/></testcase>`;
  return `${head}/>`;
}

/** JUnit XML, as CI systems read it: what could not be tested or run is a failure there. */
export function junitReport(result: RunResult): string {
  const of = (set: ReadonlySet<Verdict>): number =>
    result.checks.filter(({ verdict }) => set.has(verdict)).length;
  const blocked =
    result.blocked === null
      ? []
      : [
          `<testcase classname="run" name="complete" time="0"><failure type="${result.blocked.cause}" message="${xml(result.blocked.reason)}"/></testcase>`,
        ];
  const name = xml(`touchstone ${result.profile} ${result.subject.name}`);
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuite name="${name}" tests="${result.checks.length + blocked.length}" failures="${of(failures) + blocked.length}" errors="${of(new Set(["harness-error"]))}" skipped="${of(skips)}" time="${(result.took / 1_000).toFixed(3)}" timestamp="${result.startedAt}">`,
    ...blocked,
    ...result.checks.map(testCase),
    "</testsuite>",
    "",
  ].join("\n");
}
