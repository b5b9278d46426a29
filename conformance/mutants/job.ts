import { allMutants } from "./all.js";
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

/** Does a job. Never throws: what broke is told. */
export async function runJob(job: Job): Promise<JobDone> {
  try {
    const build = job.mutant === "" ? unmutated : allMutants.find(({ name }) => name === job.mutant)?.build;
    if (build === undefined) throw new Error(`there is no mutant ${job.mutant}`);
    return { id: job.id, run: await judgeBuild(build, job), broke: "" };
  } catch (error) {
    return {
      id: job.id,
      run: undefined,
      broke: error instanceof Error ? (error.stack ?? "") : String(error),
    };
  }
}
