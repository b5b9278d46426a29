import type { Catalogue } from "../catalogue/catalogue.js";
import type { RunResult } from "../runner/result.js";
import type { CheckResult, Verdict } from "../runner/verdict.js";
import { pageScript, pageStyle } from "./html-page.js";

function safe(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", "&#39;");
}

/** Verdicts that stand open when the page is opened. */
const opened: ReadonlySet<Verdict> = new Set([
  "fail",
  "not-testable",
  "could-not-run",
  "inconclusive",
  "harness-error",
]);

function wireTable(result: CheckResult): string {
  if (result.wire.length === 0) return "";
  const rows = result.wire.map(
    ({ at, connection, call, kind, text }) =>
      `<tr><td class="num">${at.toFixed(0)}</td><td class="num">${connection}</td><td>${safe(call)}</td><td>${kind}</td><td><code>${safe(text)}</code></td></tr>`,
  );
  return `<details class="wire"><summary>wire log (${result.wire.length} events)</summary><div class="scroll"><table><thead><tr><th>ms</th><th>connection</th><th>call</th><th>event</th><th>content</th></tr></thead><tbody>${rows.join("")}</tbody></table></div></details>`;
}

function checkArticle(result: CheckResult, catalogue: Catalogue): string {
  const clause = catalogue.entries.get(result.clause);
  const told: string[] = [];
  if (result.subject !== "") {
    told.push(
      `<dl><dt>judged</dt><dd>${safe(result.subject)}</dd><dt>expected</dt><dd><code>${safe(result.expected)}</code></dd><dt>actual</dt><dd><code>${safe(result.actual)}</code></dd></dl>`,
    );
  }
  if (result.reason !== "") told.push(`<pre>${safe(result.reason)}</pre>`);
  for (const [name, value] of Object.entries(result.observed)) {
    told.push(`<p>${safe(name)}: <code>${safe(value)}</code></p>`);
  }
  return [
    `<article class="check" data-verdict="${result.verdict}">`,
    `<details${opened.has(result.verdict) ? " open" : ""}><summary><span class="verdict ${result.verdict}">${result.verdict}</span> <b>${safe(result.check)}</b> <span class="quiet">${result.level}, ${safe(result.stack)}, ${result.took} ms</span></summary>`,
    `<blockquote>${safe(clause?.sentence ?? "")} <span class="quiet">${result.clause}</span></blockquote>`,
    `<p>${safe(result.title)}</p>`,
    ...told,
    wireTable(result),
    "</details></article>",
  ].join("");
}

function list(title: string, items: readonly string[]): string {
  return items.length === 0
    ? ""
    : `<section><h2>${safe(title)} (${items.length})</h2><ul>${items.map((item) => `<li>${item}</li>`).join("")}</ul></section>`;
}

/** The result as one page that needs nothing else: no network, no files beside it. */
export function htmlReport(result: RunResult, catalogue: Catalogue): string {
  const { subject, coverage, counts } = result;
  const name = `${subject.name || subject.target} ${subject.version}`.trim();
  const filters = Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(
      ([verdict, count]) =>
        `<label class="filter"><input type="checkbox" value="${verdict}" checked><span class="verdict ${verdict}">${verdict}</span> ${count}</label>`,
    );
  const facts = [
    ["profile", result.profile],
    ["suite", result.suite.version],
    ["contract", subject.contractVersion],
    ["features", subject.features.join(", ")],
    ["target", subject.target],
    ["seed", result.seed],
    ["started", result.startedAt],
    ["took", `${(result.took / 1_000).toFixed(1)} s`],
    [
      "MUST clauses",
      `${coverage.judged} judged of ${coverage.applicable} that apply; ${coverage.observable} observable, ${coverage.catalogue} in the catalogue`,
    ],
  ] as const;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${safe(name)}: ${result.verdict}</title>
<style>${pageStyle}</style>
</head>
<body>
<header>
<h1>${safe(name)}</h1>
<p class="outcome ${result.verdict}">${result.verdict}</p>
${result.blocked === null ? "" : `<p class="blocked">blocked by ${result.blocked.cause}: ${safe(result.blocked.reason)}</p>`}
<dl class="facts">${facts.map(([key, value]) => `<dt>${key}</dt><dd>${safe(value)}</dd>`).join("")}</dl>
</header>
<main>
<form class="filters" aria-label="filter by verdict"><input type="search" placeholder="clause, check or text" aria-label="search">${filters.join("")}</form>
<p class="quiet" id="shown" role="status"></p>
${result.checks.map((check) => checkArticle(check, catalogue)).join("\n")}
${list(
  "Not judged",
  coverage.missing.map(({ clause, opens }) => `<b>${clause}</b> ${safe(opens)}`),
)}
${list(
  "Left behind",
  result.findings.map(({ check, text }) => `<b>${safe(check)}</b> ${safe(text)}`),
)}
</main>
<script>${pageScript}</script>
</body>
</html>
`;
}
