import { allMutants } from "./all.js";
import { episodeMutants } from "./episodes/mutants.js";
import type { EpisodeBuild } from "./episodes/seams.js";
import { extremes } from "./extremes.js";
import type { Build } from "./mutant.js";
import {
  judgeBuild,
  judgeEpisodes,
  type MutantRun,
  type mutatedProfiles,
  type RunScope,
} from "./run-mutant.js";

/** A run that a worker is asked for. */
export interface Job extends RunScope {
  readonly id: string;
  /** Name of a mutant; empty: the server as it is right. */
  readonly mutant: string;
  readonly profile: (typeof mutatedProfiles)[number];
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

function episodeBuildOf(mutant: string): EpisodeBuild {
  if (mutant === "") return (parts) => parts;
  const build = episodeMutants.find(({ name }) => name === mutant)?.build;
  if (build === undefined) throw new Error(`there is no mutant ${mutant} of episodes`);
  return build;
}

/** Does a job. Never throws: what broke is told. */
export async function runJob(job: Job): Promise<JobDone> {
  try {
    const run =
      job.profile === "episode"
        ? await judgeEpisodes(episodeBuildOf(job.mutant), job)
        : await judgeBuild(buildOf(job.mutant), job);
    return { id: job.id, run, broke: "" };
  } catch (error) {
    return {
      id: job.id,
      run: undefined,
      broke: error instanceof Error ? (error.stack ?? "") : String(error),
    };
  }
}
