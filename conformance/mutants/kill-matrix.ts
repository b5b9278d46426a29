import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { referenceVariants, type VariantName } from "../reference/variants.js";
import { allMutants } from "./all.js";
import { episodeMutants } from "./episodes/mutants.js";
import { extremes } from "./extremes.js";
import type { Job, JobDone } from "./job.js";
import { judgeMatrix, matrixPage } from "./matrix.js";
import { areaOf, canBeJudged, checksOfClause, commandOf, execOf, profileOf } from "./run-mutant.js";
import { runJobs } from "./workers.js";

/**
 * `npm run kill-matrix`: each mutant against its clause's area and the unmutated server against everything.
 * `--full` runs the whole profile against each, `--accept` writes what failed as what is expected, `--only NAME` runs
 * some. Exits 1 where the matrix does not hold.
 */
async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      full: { type: "boolean", default: false },
      accept: { type: "boolean", default: false },
      slow: { type: "boolean", default: false },
      only: { type: "string", multiple: true, default: [] },
      workers: { type: "string", default: "2" },
      width: { type: "string", default: "3" },
    },
  });
  const started = performance.now();
  const chosen = [...allMutants, ...episodeMutants].filter(
    ({ name }) => values.only.length === 0 || values.only.includes(name),
  );
  const ready = chosen.filter(({ clause }) => canBeJudged(clause, values.slow));
  const whole = (id: string, mutant: string, variant: VariantName): Job => ({
    id,
    mutant,
    variant,
    profile: "environment",
    patterns: [],
    ...(values.full && id === "unmutated/full" ? { exec: commandOf("", variant) } : {}),
  });
  const jobs: Job[] = [
    ...(values.only.length > 0
      ? []
      : [
          ...Object.keys(referenceVariants).map((name) =>
            whole(`unmutated/${name}`, "", name as VariantName),
          ),
          ...extremes.map(({ name }) => whole(name, name, "full")),
          { ...whole("unmutated/episode", "", "full"), profile: "episode" as const },
        ]),
    ...ready.map((mutant): Job => {
      const { name, clause } = mutant;
      const variant = "variant" in mutant ? (mutant.variant ?? "full") : "full";
      const patterns = values.full ? [] : areaOf(mutant);
      const profile = profileOf(clause);
      return { id: name, mutant: name, variant, profile, patterns, slow: values.slow, exec: execOf(mutant) };
    }),
  ];
  const done = new Map<string, JobDone>();
  const expectedFile = fileURLToPath(new URL("expected.json", import.meta.url));
  // A line for each mutant: its checks, with blanks between.
  const lines = JSON.parse(readFileSync(expectedFile, "utf8")) as Record<string, string>;
  const expected = Object.fromEntries(
    Object.entries(lines).map(([name, ids]) => [name, ids.split(" ").filter((id) => id !== "")]),
  );
  const width = Number(values.width);
  const run = (some: readonly Job[], atOnce: number): Promise<void> =>
    runJobs(some, {
      workers: Number(values.workers),
      width: atOnce,
      onDone(one) {
        done.set(one.id, one);
        process.stderr.write(`${done.size}/${jobs.length} ${one.id}${one.broke === "" ? "" : " broke"}\n`);
      },
    });
  // What runs the whole profile keeps a process busy by itself.
  const heavy = jobs.filter(({ patterns }) => patterns.length === 0);
  const light = jobs.filter(({ patterns }) => patterns.length > 0);
  await run(light, width);
  // Side by side on a busy machine a check may lose a race: what came otherwise than expected is run again by itself.
  const odd = (job: Job): boolean => {
    const { failing = [] } = done.get(job.id)?.run ?? {};
    const own = checksOfClause(chosen.find(({ name }) => name === job.id)?.clause ?? "");
    const known = expected[job.id] ?? [];
    return !failing.some((id) => own.includes(id)) || failing.some((id) => !known.includes(id));
  };
  if (!values.accept) await run(light.filter(odd), 1);
  await run(heavy, 1);
  const matrix = judgeMatrix({
    mutants: chosen,
    done,
    expected,
    full: values.full,
    accept: values.accept,
    whole: values.only.length === 0,
    slow: values.slow,
  });
  if (values.accept) {
    const told = Object.fromEntries(
      Object.entries(matrix.expected).map(([name, ids]) => [name, ids.join(" ")]),
    );
    writeFileSync(expectedFile, `${JSON.stringify(told, undefined, 2)}\n`);
  }
  if (values.only.length === 0) {
    const root = fileURLToPath(new URL("../../", import.meta.url));
    mkdirSync(`${root}reports`, { recursive: true });
    const { clauses, checks, mutants, killed } = matrix;
    writeFileSync(
      `${root}reports/kill-matrix.json`,
      `${JSON.stringify({ clauses, checks, mutants, killed }, undefined, 2)}\n`,
    );
    writeFileSync(`${root}docs/kill-matrix.md`, matrixPage(matrix));
  }
  const seconds = Math.round((performance.now() - started) / 1_000);
  process.stdout.write(
    `${matrix.killed} of ${matrix.mutants} mutants killed, ${matrix.waiting.length} wait for a check, in ${seconds} s\n`,
  );
  for (const problem of matrix.problems) process.stdout.write(`${problem}\n`);
  return matrix.problems.length === 0 ? 0 : 1;
}

process.exit(await main());
