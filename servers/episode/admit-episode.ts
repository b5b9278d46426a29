import { CallError } from "../../clients/index.js";
import { Boundary, type EpisodeId, FailureKind, Retry, type RunRequest } from "../../gen/index.js";
import type { Admission, Slot } from "../runtime/admission.js";
import { cancelledFailure, OperationFailure } from "../runtime/failure.js";
import { causeOf, failureOf } from "../runtime/peer-failure.js";
import { drainingRefusal, Refusal } from "../runtime/refusal.js";
import type { Runtime } from "../runtime/runtime.js";
import { type Cast, type CastingPool, cast } from "./cast.js";
import { describeCast, type EpisodeDescribed, forgetCast } from "./cast-described.js";
import { checkPairs } from "./check-pairs.js";
import type { EpisodeRecord } from "./episode-record.js";
import { episodeHeaders } from "./episode-run.js";
import type { WatchedEpisode } from "./episode-watch.js";
import { describeMs } from "./peer-description.js";

/** An episode that may begin. */
export interface Admitted {
  readonly cast: Cast;
  /** What all say of themselves, or why somebody could not be asked. */
  readonly described: EpisodeDescribed | OperationFailure;
  /** Its place; absent where it was stopped before it had one. */
  readonly slot: Slot | undefined;
  readonly checkMs: number;
  readonly queueMs: number;
}

/** What admission needs. */
export interface AdmitOptions {
  readonly runtime: Runtime;
  readonly pool: CastingPool;
  readonly admission: Admission;
  /** Longest wait for a place that this run asks for. */
  readonly queueMs: number;
  /** Aborts when nobody waits for the episode any more. */
  readonly withdrawn: () => AbortSignal;
}

/** Who takes part, by the names of the run. Throws the refusals of names that are not known; nothing is called. */
export function castEpisode(
  { runtime, pool }: Pick<AdmitOptions, "runtime" | "pool">,
  request: RunRequest,
): Cast {
  if (runtime.draining) throw drainingRefusal();
  return cast(pool, request);
}

/**
 * Asks all that take part what they are, refuses pairs that cannot work, and waits for a place. Throws refusals: then
 * nothing was started. An episode that is stopped meanwhile is admitted without a place, to end at once.
 */
export async function admitEpisode(
  people: Cast,
  { request, episodeId, record }: { request: RunRequest; episodeId: EpisodeId; record: EpisodeRecord },
  options: AdmitOptions,
): Promise<Admitted> {
  const { runtime, admission, queueMs, withdrawn } = options;
  const { clock } = runtime;
  const leave = AbortSignal.any([withdrawn(), record.abandoned]);
  const began = clock.now();
  const described = await describePairs(people, {
    request,
    runtime,
    episodeId,
    watched: record.watched,
    leave,
  });
  const queued = clock.now();
  let slot: Slot | undefined;
  try {
    if (!leave.aborted) slot = await admission.enter(() => leave, queueMs);
  } catch (refusal) {
    if (!leave.aborted) throw refusal;
  }
  if (slot === undefined) {
    if (withdrawn().aborted)
      throw new Refusal("CAPACITY", "withdrawn: nobody waits for the episode any more");
    if (runtime.draining) throw drainingRefusal();
  }
  return { cast: people, described, slot, checkMs: queued - began, queueMs: clock.now() - queued };
}

/** What all say of themselves, and that they go together. Throws the refusal of pairs that cannot work. */
async function describePairs(
  people: Cast,
  asking: Asked & { readonly request: RunRequest },
): Promise<EpisodeDescribed | OperationFailure> {
  const { request, leave } = asking;
  const described = await ask(people, asking);
  if (leave.aborted || described instanceof OperationFailure || described.bound === undefined)
    return described;
  try {
    const { driver, options } = people;
    checkPairs(request, described.bound, {
      environment: driver.needs ?? [],
      agents: driver.agentNeeds?.(options) ?? [],
      agentCount: driver.agents,
    });
    return described;
  } catch (refusal) {
    // Nobody is refused for what a server was a while ago.
    forgetCast(people);
    if (described.fresh) throw refusal;
    return await describePairs(people, asking);
  }
}

interface Asked {
  readonly runtime: Runtime;
  readonly episodeId: EpisodeId;
  readonly watched: WatchedEpisode;
  /** Aborts when the answer is of no use any more. */
  readonly leave: AbortSignal;
}

/** A peer that cannot be asked is no bad pair: the episode begins, and fails with what was seen (EPI-E6-001). */
async function ask(
  people: Cast,
  { runtime, episodeId, watched, leave }: Asked,
): Promise<EpisodeDescribed | OperationFailure> {
  try {
    return await describeCast(people, { headers: episodeHeaders(episodeId, watched), signal: leave });
  } catch (error) {
    if (leave.aborted) return cancelledFailure("nobody waits for what the servers say any more");
    if (!(error instanceof CallError)) return uncallable(error, runtime);
    if (error.byCaller) return silent(error);
    const told = failureOf(error, { boundary: boundaryOf(error), lost: FailureKind.UNAVAILABLE });
    return told instanceof OperationFailure ? told : uncallable(error, runtime);
  }
}

function silent(error: CallError): OperationFailure {
  return new OperationFailure({
    kind: FailureKind.TIMEOUT,
    retry: Retry.NEW_ATTEMPT,
    reason: `not all that take part said within ${describeMs} ms what they are`,
    causes: [causeOf(error, boundaryOf(error), FailureKind.TIMEOUT)],
  });
}

/** An address that no call can be made to, or an error of our own: the log has it. */
function uncallable(error: unknown, runtime: Runtime): OperationFailure {
  runtime.log.error({ err: error }, "a bound server cannot be called");
  return new OperationFailure({
    kind: FailureKind.INTERNAL,
    retry: Retry.NEVER,
    reason: "a server that is bound cannot be called; the episode server's log has why",
  });
}

function boundaryOf({ rpc }: CallError): Boundary {
  if (rpc.includes("EnvironmentService")) return Boundary.ENVIRONMENT;
  if (rpc.includes("EpisodeService")) return Boundary.EPISODE;
  return rpc.includes("AgentSessionService") ? Boundary.AGENT : Boundary.MODEL;
}
