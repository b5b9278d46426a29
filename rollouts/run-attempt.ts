import { toJson } from "@bufbuild/protobuf";
import type { EpisodeClient } from "../clients/index.js";
import {
  type EpisodeContext,
  type EpisodeOutcome,
  ReadTrajectoryResponseSchema,
  type ResourceIntent,
  type RunRequest,
  type StepRecord,
  StopMode,
} from "../gen/index.js";
import type { Clock, Timer } from "../servers/runtime/clock.js";
import { failureOfCall, failureOfOutcome } from "./attempt-failure.js";
import { oneLine } from "./error-text.js";
import { OpenResources } from "./open-resources.js";
import { contextOf, type PlannedEpisode } from "./plan.js";
import { type AttemptResult, storableOutcome } from "./rollout-record.js";
import { episodeRequest } from "./run-request.js";

/** What running an attempt needs. */
export interface AttemptOptions {
  readonly client: EpisodeClient;
  readonly clock: Clock;
  /** What is asked of every episode alike; task and context are put in. */
  readonly request: RunRequest;
  /** Aborts, with the reason as text, when the episode is to be given up. */
  readonly abandon: AbortSignal;
  /** Milliseconds that the driver has to clean up what was given up, before it counts as lost. */
  readonly abandonMs: number;
  /** Told of each step of the episode's world as it is taken, where its driver tells of them. */
  readonly onStep?: ((step: TakenStep) => void) | undefined;
}

/** A step that an attempt has taken. */
export interface TakenStep {
  readonly episode: PlannedEpisode;
  readonly attempt: number;
  readonly record: StepRecord;
}

/** An attempt that has ended. */
export interface EndedAttempt {
  readonly result: AttemptResult;
  /** What is left, so far as it told: the next attempt hands it over. */
  readonly left: readonly ResourceIntent[];
}

/** Runs one attempt at an episode to its end. Never throws: whatever happens is a verdict or a failure. */
export async function runAttempt(
  episode: PlannedEpisode,
  attempt: number,
  options: AttemptOptions & { readonly unreleased: readonly ResourceIntent[] },
): Promise<EndedAttempt> {
  const context = contextOf(episode, attempt);
  // What earlier attempts left is left until somebody tells that it is released (EPI-E1-006).
  const open = new OpenResources(options.unreleased);
  let ended: Pick<AttemptResult, "outcome" | "failure">;
  try {
    const outcome = await follow(episode, context, { ...options, open });
    for (const { resource, released } of outcome.cleanUps) {
      if (resource === undefined) continue;
      if (released) open.released(resource);
      else open.intended(resource);
    }
    ended = { outcome: storableOutcome(outcome), failure: failureOfOutcome(outcome) };
  } catch (error) {
    ended = { outcome: undefined, failure: failureOfCall(error, options.abandon) };
  }
  const read = ended.outcome === undefined ? nothingSaid : await readTrajectory(options.client, context);
  const left = open.all();
  return {
    result: { episode, attempt, endedAt: options.clock.date(), ...ended, ...read, unreleased: left },
    left,
  };
}

async function follow(
  episode: PlannedEpisode,
  context: EpisodeContext,
  options: Parameters<typeof runAttempt>[2] & { readonly open: OpenResources },
): Promise<EpisodeOutcome> {
  const { client, request, unreleased, open, abandon, onStep } = options;
  const lost = new AbortController();
  let timer: Timer | undefined;
  const giveUp = (): void => {
    timer = options.clock.setTimer(options.abandonMs, () => lost.abort());
    void abandonEpisode(context, lost, options);
  };
  abandon.addEventListener("abort", giveUp, { once: true });
  try {
    const whole = episodeRequest({ ...request, unreleased: [...unreleased] }, episode, context);
    const events = client.run(whole, { signal: lost.signal });
    for await (const { event } of events) {
      if (event.case === "resourceIntent") open.intended(event.value);
      if (event.case === "resourceReleased") open.released(event.value);
      if (event.case === "step")
        onStep?.({ episode, attempt: context.episodeId?.attempt ?? 0, record: event.value });
    }
    return await events.result();
  } finally {
    abandon.removeEventListener("abort", giveUp);
    timer?.cancel();
  }
}

/** Tells the driver to give an episode up; it cleans up and answers an outcome, or is lost after a while. */
async function abandonEpisode(
  { episodeId }: EpisodeContext,
  lost: AbortController,
  { client, abandon }: AttemptOptions,
): Promise<void> {
  try {
    await client.stop({
      ...(episodeId === undefined ? {} : { episodeId }),
      mode: StopMode.ABANDON,
      reason: String(abandon.reason),
    });
  } catch {
    // Nobody there knows of it: there is no outcome to wait for.
    lost.abort();
  }
}

const nothingSaid = { trajectory: [], trajectoryMissing: "" } as const;

/** Reads what was said and done. A fault costs the trajectory, never the verdict. */
async function readTrajectory(
  client: EpisodeClient,
  { episodeId }: EpisodeContext,
): Promise<Pick<AttemptResult, "trajectory" | "trajectoryMissing">> {
  const trajectory: unknown[] = [];
  try {
    const records = client.readTrajectory(episodeId === undefined ? {} : { episodeId });
    for await (const record of records) trajectory.push(toJson(ReadTrajectoryResponseSchema, record));
    return { trajectory, trajectoryMissing: "" };
  } catch (error) {
    return { trajectory, trajectoryMissing: `could not be read: ${oneLine(error)}` };
  }
}
