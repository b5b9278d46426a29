import { readCatalogue } from "../catalogue/catalogue.js";
import type { JobDone } from "./job.js";
import type { Mutant } from "./mutant.js";
import { checksOfClause, type MutantRun, mutatedProfiles } from "./run-mutant.js";

/** Of the MUST checks so many must fail against a server that says OK to everything. */
const lenientShare = 0.6;

/** What a matrix is made of. */
export interface MatrixInput {
  readonly mutants: readonly Omit<Mutant, "build">[];
  readonly done: ReadonlyMap<string, JobDone>;
  /** Ids of the checks that each mutant fails, by its name. */
  readonly expected: Readonly<Record<string, readonly string[]>>;
  /** The whole profile ran: what failed must be exactly what is expected. */
  readonly full: boolean;
  /** What failed is what is expected from now on. */
  readonly accept: boolean;
  /** All mutants ran, and the unmutated server. */
  readonly whole: boolean;
  /** Checks that take minutes ran too. */
  readonly slow: boolean;
}

/** A mutant and what became of it. */
export interface MatrixRow {
  readonly clause: string;
  readonly mutant: string;
  readonly what: string;
  readonly variant: string;
  readonly state: "killed" | "survived" | "waiting";
  /** Checks of its clause that failed. */
  readonly by: readonly string[];
  /** Others that failed. */
  readonly also: readonly string[];
}

/** Which check sees which fault. */
export interface Matrix {
  readonly rows: readonly MatrixRow[];
  /** Clauses that a mutant breaks. */
  readonly clauses: number;
  /** Checks that kill one. */
  readonly checks: number;
  /** Mutants that ran. */
  readonly mutants: number;
  readonly killed: number;
  /** Mutants whose clause no check judges. */
  readonly waiting: readonly string[];
  /** Why the matrix does not hold, a line each. */
  readonly problems: readonly string[];
  readonly expected: Readonly<Record<string, readonly string[]>>;
  /** Observable MUST clauses of the profile with checks of which no mutant is killed. */
  readonly without: readonly string[];
}

/** Judges the runs. */
export function judgeMatrix(input: MatrixInput): Matrix {
  const { mutants, done, whole, accept } = input;
  const problems: string[] = whole ? wholeProblems(done) : [];
  const expected: Record<string, readonly string[]> = { ...input.expected };
  const rows = mutants.map((mutant): MatrixRow => {
    const { name, clause, what, variant = "full" } = mutant;
    const own = new Set(checksOfClause(clause));
    const came = done.get(name);
    const base = { clause, mutant: name, what, variant };
    if (came === undefined) return { ...base, state: "waiting", by: [], also: [] };
    const { run, broke } = came;
    if (run === undefined) {
      problems.push(`${name}: no run: ${firstLine(broke)}`);
      return { ...base, state: "survived", by: [], also: [] };
    }
    const by = run.failing.filter((id) => own.has(id));
    const also = run.failing.filter((id) => !own.has(id));
    if (accept) expected[name] = input.full ? run.failing : union(input.expected[name], run.failing);
    else problems.push(...unexpected(name, run, input));
    if (by.length === 0) problems.push(`${name} survives ${clause}${blockedText(run)}`);
    return { ...base, state: by.length > 0 ? "killed" : "survived", by, also };
  });
  const ran = rows.filter(({ state }) => state !== "waiting");
  const killed = ran.filter(({ state }) => state === "killed");
  return {
    rows,
    clauses: new Set(ran.map(({ clause }) => clause)).size,
    checks: new Set(killed.flatMap(({ by, also }) => [...by, ...also])).size,
    mutants: ran.length,
    killed: killed.length,
    waiting: rows.filter(({ state }) => state === "waiting").map(({ mutant }) => mutant),
    problems,
    expected: Object.fromEntries(Object.entries(expected).sort(([a], [b]) => (a < b ? -1 : 1))),
    without: clausesWithout(killed),
  };
}

const firstLine = (text: string): string => text.split("\n")[0] ?? "";

const union = (...lists: readonly (readonly string[] | undefined)[]): string[] =>
  [...new Set(lists.flatMap((list) => list ?? []))].sort();

function blockedText({ blocked, incomplete }: MutantRun): string {
  if (blocked !== "") return `: the run was blocked by ${blocked}`;
  return incomplete.length === 0
    ? ""
    : `: ${incomplete.length} checks came to no verdict, ${(incomplete[0] ?? "").slice(0, 200)}`;
}

/** What failed and should not have, or should have and did not. */
function unexpected(name: string, { failing }: MutantRun, { expected, full }: MatrixInput): string[] {
  const known = expected[name];
  if (known === undefined) return [`${name}: what it fails is not known yet: give --accept`];
  const beyond = failing.filter((id) => !known.includes(id)).map((id) => `${name} fails ${id} too`);
  const short = full
    ? known.filter((id) => !failing.includes(id)).map((id) => `${name} fails ${id} no longer`)
    : [];
  return [...beyond, ...short];
}

/** What is wrong with the servers that are not broken, or broken everywhere. */
function wholeProblems(done: ReadonlyMap<string, JobDone>): string[] {
  const { entries } = readCatalogue();
  const problems: string[] = [];
  for (const [id, { run, broke }] of done) {
    const sound = id.startsWith("unmutated/") || id === "no-op" || id === "slow";
    if (!sound && id !== "lenient") continue;
    if (run === undefined) {
      problems.push(`${id}: no run: ${firstLine(broke)}`);
    } else if (id === "lenient") {
      const share = run.failedMusts / Math.max(1, run.judgedMusts);
      if (share < lenientShare)
        problems.push(
          `lenient fails ${run.failedMusts} of ${run.judgedMusts} MUST checks, less than ${lenientShare * 100} %`,
        );
    } else {
      const musts = run.failing.filter((check) => entries.get(check.split(".")[0] ?? "")?.level === "MUST");
      problems.push(
        ...[...musts, ...run.incomplete].map((text) => `${id} does not pass ${text.slice(0, 200)}`),
      );
      problems.push(...run.findings.map((text) => `${id}: ${text}`));
      if (run.blocked !== "") problems.push(`${id}: ${run.blocked}`);
    }
  }
  return problems;
}

function clausesWithout(killed: readonly MatrixRow[]): string[] {
  const seen = new Set(killed.map(({ clause }) => clause));
  return [...readCatalogue().entries.values()]
    .filter(({ level, profiles, unobservable }) => {
      const mutated = mutatedProfiles.some((profile) => profiles.includes(profile));
      return level === "MUST" && mutated && unobservable === undefined;
    })
    .map(({ id }) => id)
    .filter((id) => !seen.has(id) && checksOfClause(id).length > 0);
}

/** The page of docs/kill-matrix.md. */
export function matrixPage(matrix: Matrix): string {
  const { rows, clauses, checks, mutants, killed, waiting, without } = matrix;
  const sorted = [...rows].sort((a, b) => (a.clause < b.clause ? -1 : a.clause > b.clause ? 1 : 0));
  const line = ({ clause, mutant, what, variant, state, by, also }: MatrixRow): string => {
    const where = variant === "full" ? "" : ` (${variant})`;
    const name = (id: string): string => id.slice(clause.length + 1);
    const killers = state === "killed" ? by.map(name).join(", ") : state;
    const others = also.length === 0 ? "" : ` and ${also.length} of other clauses`;
    return `| ${clause} | ${checksOfClause(clause).map(name).join(", ") || "none yet"} | \`${mutant}\`${where}: ${what} | ${killers}${others} |`;
  };
  return `# Kill matrix

Of the profiles environment and episode.

\`npm run kill-matrix\` writes this page. A mutant is the reference world's server, or our episode server, with one fault in it,
made at a public seam of the runtime (\`conformance/mutants\`); a check that does not fail against the mutant of its clause is worth nothing.

${killed} of ${mutants} mutants of ${clauses} clauses are killed, by ${checks} checks; ${waiting.length} wait for a check of
their clause. The server without a fault passes everything on every launch, also where it is five times as slow.

| Clause | Checks | Mutant | Killed by |
| --- | --- | --- | --- |
${sorted.map(line).join("\n")}

## Clauses with checks and without a mutant

${without.length === 0 ? "None." : without.map((id) => `\`${id}\``).join(", ")}
`;
}
