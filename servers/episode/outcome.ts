import { create } from "@bufbuild/protobuf";
import {
  Boundary,
  type CleanUp,
  type EpisodeOutcome,
  EpisodeOutcomeSchema,
  type EpisodeTimings,
  EpisodeTimingsSchema,
  type Failure,
  type Implementation,
  type Participant,
  ParticipantSchema,
  type ServiceInfo,
  UsageRole,
  type Verdict,
} from "../../gen/index.js";
import { fromMs } from "../runtime/duration.js";
import type { EpisodeRun } from "./episode-run.js";

/** What an outcome is made of. */
export interface OutcomeParts {
  readonly answerId: string;
  /** Absent where the episode ended before anything was begun. */
  readonly run: EpisodeRun | undefined;
  readonly score: { readonly verdict: Verdict } | { readonly failure: Failure };
  readonly cleanUps: readonly CleanUp[];
  readonly queueMs: number;
  /** The reason that Stop gave; empty: it was not stopped. */
  readonly stopReason: string;
}

/** How an episode ended, with everything known, whatever it came to (EPI-OUT-001 to EPI-OUT-009). */
export function outcomeOf(
  request: EpisodeRun["parts"]["request"],
  { answerId, run, score, cleanUps, queueMs, stopReason }: OutcomeParts,
): EpisodeOutcome {
  const session = run?.environment.session;
  const untrainable = run?.agents.untrainable() ?? ["the episode did not begin"];
  return create(EpisodeOutcomeSchema, {
    answerId,
    ...(request.context === undefined ? {} : { context: request.context }),
    ...taskOf(request, run),
    outcome:
      "verdict" in score
        ? { case: "verdict", value: score.verdict }
        : { case: "failure", value: score.failure },
    agentEnds: run?.agentEnds ?? [],
    ...(run?.environment.submission === undefined ? {} : { submission: run.environment.submission }),
    collected: run?.environment.collected ?? [],
    verifierState: session?.verifierState ?? new Uint8Array(),
    steps: run?.environment.receipt?.steps ?? 0,
    ...(run === undefined ? {} : { trajectory: run.parts.trajectory.ref }),
    usage: usageOf(run),
    timings: timingsOf(run, queueMs),
    cleanUps: [...cleanUps],
    participants: run === undefined ? [] : participants(run),
    unenforced: run?.unenforced ?? [],
    training: { usable: untrainable.length === 0, reasons: untrainable },
    referenceGiven: run?.agents.referenceGiven ?? false,
    stopReason,
  });
}

/** The task's identity: the environment's word where Seed answered, else what the request says of it. */
function taskOf(
  request: EpisodeRun["parts"]["request"],
  run: EpisodeRun | undefined,
): Pick<EpisodeOutcome, "task"> | object {
  const told = run?.environment.session?.task;
  if (told !== undefined) return { task: told };
  const { source } = request;
  if (source.case === "task") {
    const { taskId, environment, split, revision } = source.value;
    return { task: { ...(taskId === undefined ? {} : { taskId }), environment, split, revision } };
  }
  return source.case === "taskId" ? { task: { taskId: source.value } } : {};
}

function usageOf(run: EpisodeRun | undefined): EpisodeOutcome["usage"] {
  if (run === undefined) return [];
  const ofAgents = run.agentEnds.flatMap(({ agentId, usage }) =>
    usage === undefined
      ? []
      : [{ $typeName: "touchstone.v1.RoleUsage" as const, role: UsageRole.AGENT, agentId, usage }],
  );
  const own = run.environment.receipt?.usage;
  if (own === undefined) return ofAgents;
  return [
    ...ofAgents,
    { $typeName: "touchstone.v1.RoleUsage" as const, role: UsageRole.ENVIRONMENT, agentId: "", usage: own },
  ];
}

/** Time of each phase, the queue apart (EPI-RUN-007). */
function timingsOf(run: EpisodeRun | undefined, queueMs: number): EpisodeTimings {
  const timings = create(EpisodeTimingsSchema, { queue: fromMs(queueMs) });
  for (const [phase, ms] of Object.entries(run?.timings ?? {})) {
    timings[phase as keyof NonNullable<typeof run>["timings"]] = fromMs(ms);
  }
  return timings;
}

function participant(
  boundary: Boundary,
  binding: string,
  service: ServiceInfo | undefined,
  more: { agentId?: string; implementation?: Implementation | undefined; weightsVersions?: string[] } = {},
): Participant {
  const implementation = more.implementation ?? service?.implementation;
  return create(ParticipantSchema, {
    boundary,
    binding,
    agentId: more.agentId ?? "",
    ...(implementation === undefined ? {} : { implementation }),
    instanceId: service?.instanceId ?? "",
    weightsVersions: more.weightsVersions ?? [],
  });
}

function participants(run: EpisodeRun): Participant[] {
  const { request, described } = run.parts;
  const list = [participant(Boundary.ENVIRONMENT, request.environment, described.environment.service)];
  for (const binding of request.agents) {
    const says = described.agents.get(binding.agentId);
    if (says === undefined) continue;
    const { agentId } = binding;
    list.push(
      participant(Boundary.AGENT, binding.agent, says.agent.service, {
        agentId,
        implementation: says.agent.harness,
      }),
    );
    if (says.model === undefined) continue;
    const seen = run.agents.weightsVersions(agentId);
    list.push(
      participant(Boundary.MODEL, binding.model, says.model.service, {
        agentId,
        weightsVersions: seen.length === 0 ? [says.model.weightsVersion] : seen,
      }),
    );
  }
  const box = run.environment.session?.sandbox;
  if (box !== undefined) {
    list.push(
      create(ParticipantSchema, {
        boundary: Boundary.SANDBOX,
        binding: request.sandbox,
        ...(box.implementation === undefined ? {} : { implementation: box.implementation }),
        instanceId: box.instanceId,
      }),
    );
  }
  return list;
}
