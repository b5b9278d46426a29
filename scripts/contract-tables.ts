// Fills the marked places of docs/contract.md with tables made from the comments of the proto files.
import type { FileDescriptorSet } from "@bufbuild/protobuf/wkt";
import type { Clause } from "../conformance/catalogue/contract-clauses.js";
import { commentBlocks } from "../conformance/catalogue/proto-comments.js";

/** One value of an enum with its comment. */
interface EnumRow {
  readonly name: string;
  readonly comment: string;
}

/** What the tables are made from. */
export interface ContractSources {
  /** All clauses. */
  readonly clauses: readonly Clause[];
  /** The compiled proto files, for the comments of enums. */
  readonly set: FileDescriptorSet;
}

/** A page with its tables, and what kept them from being whole. */
export interface FilledPage {
  /** The page. */
  readonly text: string;
  /** One sentence for each marker or clause that is wrong; empty: the page is whole. */
  readonly problems: readonly string[];
}

// A marker, what stands behind it now, and its end. The words of a marker are selectors: a rule (`R2`), the
// beginning of ids (`ENV-SEED`).
const PLACE = /<!-- (?<kind>clauses|values) (?<words>[^>]+?) -->\n[\s\S]*?<!-- end -->/g;

const SERVICES: Readonly<Record<string, string>> = {
  E: "environment",
  A: "agent",
  S: "sandbox",
  M: "model",
  P: "episode",
};

/** Markdown of a clause's anchor and id; failing checks link to it. */
function idCell(id: string): string {
  return `<a id="${id.toLowerCase()}"></a>${id}`;
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

function scopeCell(clause: Clause): string {
  if (!clause.id.startsWith("ALL-")) {
    return clause.element === "" ? "" : `\`${clause.element}\``;
  }
  const names = [...clause.services].map((letter) => SERVICES[letter] ?? letter);
  return names.length === 0 ? "all" : names.join(", ");
}

function conditionCell(clause: Clause): string {
  return clause.conditions.map((one) => (/^[A-Z_]+$/.test(one) ? `\`${one}\`` : one)).join(" and ");
}

function clauseTable(clauses: readonly Clause[]): string {
  const shared = clauses.every((clause) => clause.id.startsWith("ALL-"));
  const withScope = clauses.some((clause) => scopeCell(clause) !== "");
  const withCondition = clauses.some((clause) => clause.conditions.length > 0);
  const row = (clause: Clause) => [
    idCell(clause.id),
    clause.level,
    ...(withScope ? [scopeCell(clause)] : []),
    ...(withCondition ? [conditionCell(clause)] : []),
    cell(clause.sentence),
  ];
  const head = [
    "Clause",
    "Level",
    ...(withScope ? [shared ? "Binds" : "Beside"] : []),
    ...(withCondition ? ["Where"] : []),
    "What holds",
  ];
  return table(head, clauses.map(row));
}

function selects(selector: string, clause: Clause): boolean {
  return /^R\d+$/.test(selector) ? clause.rule === selector : clause.id.startsWith(`${selector}-`);
}

/** Values of an enum without the zero value and without the prefix. Empty: there is no such enum. */
function enumRows(set: FileDescriptorSet, name: string): EnumRow[] {
  const prefix = `${name.replace(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase()}_`;
  return set.file
    .filter((file) => file.package === "touchstone.v1")
    .flatMap((file) => commentBlocks(file))
    .filter((block) => block.element.startsWith(`${name}.${prefix}`))
    .map((block) => ({
      name: block.element.slice(name.length + 1 + prefix.length),
      comment: block.lines.join(" ").trim(),
    }))
    .filter((row) => row.name !== "UNSPECIFIED");
}

/** Puts each clause and enum value into the place that is marked for it. */
export function fillContract(page: string, { clauses, set }: ContractSources): FilledPage {
  const problems: string[] = [];
  const shown = new Map<string, number>();
  const text = page.replace(PLACE, (_place, kind: string, words: string) => {
    const selectors = words.split(" ");
    const open = `<!-- ${kind} ${words} -->`;
    if (kind === "values") {
      const rows = enumRows(set, words);
      if (rows.length === 0) {
        problems.push(
          `marker ${open}: expected the name of an enum of touchstone.v1, found none of that name.`,
        );
      }
      const body = table(
        ["Value", "Meaning"],
        rows.map(({ name, comment }) => [`\`${name}\``, cell(comment)]),
      );
      return `${open}\n\n${body}\n\n<!-- end -->`;
    }
    const chosen = selectors.flatMap((selector) => {
      const some = clauses.filter((clause) => selects(selector, clause));
      if (some.length === 0) {
        problems.push(
          `marker ${open}: no clause stands under ${selector}. Take the marker away or correct it.`,
        );
      }
      return some;
    });
    for (const { id } of chosen) {
      shown.set(id, (shown.get(id) ?? 0) + 1);
    }
    return `${open}\n\n${clauseTable(chosen)}\n\n<!-- end -->`;
  });
  for (const { id, file } of clauses) {
    const times = shown.get(id) ?? 0;
    if (times !== 1) {
      problems.push(
        `${id} of ${file} stands ${times} times on the page, expected once: check the <!-- clauses ... --> markers.`,
      );
    }
  }
  return { text, problems };
}
