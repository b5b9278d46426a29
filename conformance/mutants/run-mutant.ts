import { fileURLToPath } from "node:url";
import { create } from "@bufbuild/protobuf";
import { EnvironmentServiceDescribeResponseSchema } from "../../gen/index.js";
import { playEpisodes } from "../cases/episode/episode-suite.js";
import { readCatalogue } from "../catalogue/catalogue.js";
import { readConformanceFile } from "../fixture/conformance-file.js";
import { episodeParts, serveEpisodes } from "../reference/episodes.js";
import { referenceParts, serveParts } from "../reference/parts.js";
import { referenceVariants, type VariantName } from "../reference/variants.js";
import type { RunResult } from "../runner/result.js";
import { runConformance } from "../runner/run-conformance.js";
import { suiteOf } from "../runner/suites.js";
import { incompleteVerdicts } from "../runner/verdict.js";
import type { EpisodeBuild } from "./episodes/seams.js";
import type { Build, Mutant } from "./mutant.js";

/** What came of a run against a server of the reference world. */
export interface MutantRun {
  /** Ids of the checks that failed or warned, sorted. */
  readonly failing: readonly string[];
  /** Ids of the checks that came to no verdict, each with its reason. */
  readonly incomplete: readonly string[];
  /** Why nothing could be said; empty: something could. */
  readonly blocked: string;
  /** Sessions that stayed behind, stray rejections. */
  readonly findings: readonly string[];
  /** Of the MUST checks that came to a verdict, how many failed. */
  readonly failedMusts: number;
  readonly judgedMusts: number;
  /** Milliseconds. */
  readonly took: number;
}

/** What is run, and on which launch. */
export interface RunScope {
  readonly variant: VariantName;
  /** Check ids or clauses; empty: the whole profile. */
  readonly patterns: readonly string[];
  /** Checks that take minutes run too. */
  readonly slow?: boolean;
  /** Command that starts the same server as a process; given, checks that need one run too. */
  readonly exec?: string | undefined;
}

/** Order of the checks: the same each time, so that what fails can be compared. */
const seed = "kill-matrix";

/** Factor on the suite's watchdogs. */
const patience = 2;

/** Serves the reference world with a fault in it, and judges it. */
export async function judgeBuild(
  build: Build,
  { variant, patterns, slow = false, exec }: RunScope,
): Promise<MutantRun> {
  const launch = referenceVariants[variant];
  const said = readConformanceFile(fileURLToPath(new URL(`../reference/${launch.config}`, import.meta.url)));
  // Runs share two cores with others: the suite's patience is not what is tried.
  const file = { ...said, time_scale: patience };
  await using server = await serveParts(build(referenceParts(launch)));
  const result = await runConformance({
    profile: "environment",
    target: { url: server.url, headers: file.headers },
    file,
    patterns,
    seed,
    slow,
    allowDestructive: true,
    ...(exec === undefined ? {} : { exec }),
  });
  return summaryOf(result);
}

/** Serves episodes with a fault in them, over the parts that the runner plays, and judges it. */
export async function judgeEpisodes(
  build: EpisodeBuild,
  { patterns, slow = false }: Pick<RunScope, "patterns" | "slow">,
): Promise<MutantRun> {
  const said = readConformanceFile(
    fileURLToPath(new URL("../reference/conformance.episode.yaml", import.meta.url)),
  );
  const file = { ...said, time_scale: patience };
  await using played = await playEpisodes(file);
  await using server = await serveEpisodes(build(episodeParts(played.cast.urls)));
  const target = { url: server.url, headers: {} };
  return summaryOf(await runConformance({ profile: "episode", target, file, played, patterns, seed, slow }));
}

function summaryOf({ checks, blocked, findings, took }: RunResult): MutantRun {
  const { entries } = readCatalogue();
  const wrong = checks.filter(({ verdict }) => verdict === "fail" || verdict === "warn");
  const incomplete = checks.filter(
    ({ verdict }) => incompleteVerdicts.has(verdict) || verdict === "not-testable",
  );
  const musts = checks.filter(
    ({ verdict, clause }) =>
      (verdict === "pass" || verdict === "fail") && entries.get(clause)?.level === "MUST",
  );
  return {
    failing: unique(wrong.map(({ check }) => check)),
    incomplete: unique(incomplete.map(({ check, verdict, reason }) => `${check}: ${verdict}: ${reason}`)),
    blocked: blocked === null || checks.length > 0 ? "" : `${blocked.cause}: ${blocked.reason}`,
    findings: findings.map(({ check, text }) => `${check}: ${text}`),
    failedMusts: musts.filter(({ verdict }) => verdict === "fail").length,
    judgedMusts: musts.length,
    took,
  };
}

const unique = (ids: readonly string[]): string[] => [...new Set(ids)].sort();

/** The watches of a subject that declares nothing: which there are does not depend on it. */
const watches = suiteOf("environment").watches(create(EnvironmentServiceDescribeResponseSchema));

/** Profiles whose checks mutants are to show; shared clauses are shown on the environment's. */
export const mutatedProfiles = ["environment", "episode"] as const;

/** The profile on which a clause's mutants are judged. */
export function profileOf(clause: string): (typeof mutatedProfiles)[number] {
  return clause.startsWith("EPI-") ? "episode" : "environment";
}

/** Ids of the checks and watches that judge a clause in the profile of its mutants. */
export function checksOfClause(clause: string): string[] {
  const all = [...suiteOf(profileOf(clause)).checks, ...watches];
  return all.filter((one) => one.clause === clause).map(({ id }) => id);
}

/** Whether a check of a clause runs: those that take minutes do only where they are asked for. */
export function canBeJudged(clause: string, slow: boolean): boolean {
  const { checks } = suiteOf(profileOf(clause));
  const all = [...checks, ...watches.map((one) => ({ ...one, slow: false }))];
  return all.some((one) => one.clause === clause && (slow || !one.slow));
}

/** What brings things to light that watches judge. */
const traffic = ["ALL-REFUSE-*", "ALL-FAIL-*", "ENV-SEED-*", "ENV-STEP-*", "ENV-VRFY-*"];

/** What a mutant is run with where not the whole profile is: the area of its clause. */
export function areaOf({ clause, also = [], area: given }: Omit<Mutant, "build">): string[] {
  const area = given ?? [`${clause.slice(0, clause.lastIndexOf("-"))}-*`];
  const watched = watches.some((one) => one.clause === clause);
  return [...new Set([...area, ...(watched ? traffic : []), ...also])];
}

/** Command by which a mutant runs as a process, where a check of its clause needs one. */
export function execOf({ name, clause, variant = "full" }: Omit<Mutant, "build">): string | undefined {
  if (profileOf(clause) !== "environment") return undefined;
  const checks = suiteOf("environment").checks.filter((one) => one.clause === clause);
  return checks.some(({ lane }) => lane === "process") ? commandOf(name, variant) : undefined;
}

/** Command that serves a mutant; no name: the server as it is right. */
export function commandOf(mutant: string, variant: VariantName): string {
  const main = fileURLToPath(new URL("main.ts", import.meta.url));
  return `node --import tsx ${main} --mutant ${mutant === "" ? "no-op" : mutant} --variant ${variant}`;
}
