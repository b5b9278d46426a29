import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type CleanUp,
  type EpisodeOutcome,
  EpisodeOutcomeSchema,
  type EpisodeTimings,
  EpisodeTimingsSchema,
  type Failure,
  type RoleUsage,
  RoleUsageSchema,
  type RunRequest,
  type TaskIdentity,
  TaskIdentitySchema,
  UsageRole,
  type Verdict,
} from "../../gen/index.js";
import { fromMs } from "../runtime/duration.js";
import type { EpisodeRun } from "./episode-run.js";
import { participantsOf } from "./participants.js";
import type { Timings } from "./phases.js";
import { addTheirTimings } from "./relayed-outcome.js";
import { untrainable } from "./training.js";
import type { Trajectory } from "./trajectory.js";

/** What an outcome is made of. */
export interface OutcomeParts {
  readonly answerId: string;
  readonly request: RunRequest;
  /** Absent where the episode ended before anything was begun. */
  readonly run: EpisodeRun | undefined;
  readonly score: { readonly verdict: Verdict } | { readonly failure: Failure };
  readonly cleanUps: readonly CleanUp[];
  readonly trajectory: Trajectory;
  readonly timings: Timings & { readonly queue: number };
  /** The reason that Stop gave; empty: it was not stopped. */
  readonly stopReason: string;
}

/** How an episode ended, with everything known, whatever it came to (EPI-OUT-001 to EPI-OUT-009). */
export function outcomeOf(parts: OutcomeParts): EpisodeOutcome {
  const { answerId, request, run, score, cleanUps, trajectory, timings, stopReason } = parts;
  const ours = timingsOf(timings);
  const theirs = run?.relayed?.outcome;
  return create(EpisodeOutcomeSchema, {
    answerId,
    ...(request.context === undefined ? {} : { context: request.context }),
    outcome:
      "verdict" in score
        ? { case: "verdict", value: score.verdict }
        : { case: "failure", value: score.failure },
    trajectory: trajectory.ref,
    timings: theirs === undefined ? ours : addTheirTimings(ours, theirs),
    cleanUps: [...cleanUps],
    stopReason,
    ...(theirs === undefined ? knownHere(request, run) : knownThere(theirs, request)),
    participants: participantsOf(run),
  });
}

/** What is known of an episode that was played here. */
function knownHere(request: RunRequest, run: EpisodeRun | undefined): Known {
  const task = taskOf(request, run);
  const seats = run?.agents.seats ?? [];
  const reasons = untrainable(seats);
  const { session, verification, receipt } = run?.environment ?? {};
  return {
    ...(task === undefined ? {} : { task }),
    agentEnds: run?.agents.ends ?? [],
    ...(verification === undefined ? {} : { submission: verification.submission }),
    collected: [...(verification?.collected ?? run?.outside?.artifacts ?? [])],
    verifierState: session?.verifierState ?? new Uint8Array(),
    steps: receipt?.steps ?? 0,
    usage: run === undefined ? [] : usageOf(run),
    unenforced: run?.unenforced ?? [],
    training: { usable: reasons.length === 0, reasons },
    referenceGiven: seats.some(({ referenceGiven }) => referenceGiven),
  };
}

type Known = Omit<MessageInitShape<typeof EpisodeOutcomeSchema>, "$typeName">;

/** What another server told of an episode that it played. */
function knownThere(theirs: EpisodeOutcome, request: RunRequest): Known {
  const { agentEnds, submission, collected, verifierState, steps, usage, unenforced, referenceGiven } =
    theirs;
  const task = theirs.task ?? taskOf(request, undefined);
  const { training } = theirs;
  return {
    ...(task === undefined ? {} : { task }),
    agentEnds,
    ...(submission === undefined ? {} : { submission }),
    collected,
    verifierState,
    steps,
    usage,
    unenforced,
    training: training ?? { usable: false, reasons: ["the other episode server does not say"] },
    referenceGiven,
  };
}

/** The task's identity: the environment's word where Seed answered, else what the request says of it. */
function taskOf({ source }: RunRequest, run: EpisodeRun | undefined): TaskIdentity | undefined {
  const told = run?.environment.session?.task;
  if (told !== undefined) return told;
  switch (source.case) {
    case "task": {
      const { taskId, environment, split, revision } = source.value;
      const known = { environment, split, revision };
      return create(TaskIdentitySchema, taskId === undefined ? known : { ...known, taskId });
    }
    case "taskId":
      return create(TaskIdentitySchema, { taskId: source.value });
    case undefined:
      return undefined;
  }
}

/** What each role used (EPI-OUT-003). */
function usageOf({ agents, environment }: EpisodeRun): RoleUsage[] {
  const list = agents.ends.flatMap(({ agentId, usage }) =>
    usage === undefined ? [] : [create(RoleUsageSchema, { role: UsageRole.AGENT, agentId, usage })],
  );
  const own = environment.receipt?.usage;
  return own === undefined
    ? list
    : [...list, create(RoleUsageSchema, { role: UsageRole.ENVIRONMENT, usage: own })];
}

/** Time of each phase, the queue apart (EPI-RUN-007). */
function timingsOf(phases: OutcomeParts["timings"]): EpisodeTimings {
  const timings = create(EpisodeTimingsSchema);
  for (const [phase, ms] of Object.entries(phases)) timings[phase as keyof typeof phases] = fromMs(ms);
  return timings;
}
