import { allMutants } from "./all.js";
import { extremes } from "./extremes.js";
import type { Build } from "./mutant.js";
import { judgeBuild, type MutantRun, type RunScope } from "./run-mutant.js";

/** A run that a worker is asked for. */
export interface Job extends RunScope {
  readonly id: string;
  /** Name of a mutant; empty: the server as it is right. */
  readonly mutant: string;
}

/** What came of it. */
export interface JobDone {
  readonly id: string;
  readonly run: MutantRun | undefined;
  /** Why there is no run; empty: there is. */
  readonly broke: string;
}

const unmutated: Build = (parts) => parts;

/** What puts the fault of a name into a server; no name: nothing. Throws an Error where there is none of the name. */
export function buildOf(mutant: string): Build {
  if (mutant === "") return unmutated;
  const build = [...allMutants, ...extremes].find(({ name }) => name === mutant)?.build;
  if (build === undefined) throw new Error(`there is no mutant ${mutant}`);
  return build;
}

/** Does a job. Never throws: what broke is told. */
export async function runJob(job: Job): Promise<JobDone> {
  try {
    return { id: job.id, run: await judgeBuild(buildOf(job.mutant), job), broke: "" };
  } catch (error) {
    return {
      id: job.id,
      run: undefined,
      broke: error instanceof Error ? (error.stack ?? "") : String(error),
    };
  }
}
