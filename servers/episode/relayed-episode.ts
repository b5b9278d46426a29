import { clone, create } from "@bufbuild/protobuf";
import { CallError, type EpisodeClient, rpcName } from "../../clients/index.js";
import {
  Boundary,
  type CleanUp,
  CleanUpSchema,
  type Endpoint,
  type EpisodeEvent,
  type EpisodeOutcome,
  EpisodeService,
  FailureKind,
  type ResourceIntent,
  ResourceKind,
  Retry,
  type RunRequest,
  RunRequestSchema,
  Stage,
  StopMode,
  type Verdict,
} from "../../gen/index.js";
import { OperationFailure, toFailure } from "../runtime/failure.js";
import { episodeKey, sameEpisode } from "../runtime/identity.js";
import { causeOf, failureOf } from "../runtime/peer-failure.js";
import { answeredFailure } from "./answered-failure.js";
import type { RelayPeer } from "./cast.js";
import { checkVerdict } from "./check-verdict.js";
import type { RelayOptions } from "./define-driver.js";
import type { EpisodeRun } from "./episode-run.js";
import { firstInstance } from "./first-instance.js";
import { external } from "./outside-play.js";
import { intentHere, intentsThere, nameHere } from "./relayed-names.js";
import { describeTimeouts } from "./timeouts.js";
import { endEpisode } from "./unreleased.js";

/** Clean-ups that another server may need, each in its own time, before it counts as lost. */
const theirCleanUps = 8;

/**
 * An episode that another EpisodeService plays, under the same id: what it tells is told on, Stop reaches it, and its
 * verdict is taken as it is, said to be external (EPI-DRV-005, EPI-DRV-010).
 */
export class RelayedEpisode {
  /** How it ended there; undefined: nobody knows. */
  outcome: EpisodeOutcome | undefined;
  readonly #episode: EpisodeRun;
  readonly #options: RelayOptions;
  readonly #relay: RelayPeer;
  readonly #intent: ResourceIntent;
  /** Takes the answers of one instance only: another one would play the episode a second time (EPI-E6-011). */
  #client: EpisodeClient;
  /** For its end, which any instance may answer. */
  #closing: EpisodeClient;
  /** What it told to make and did not tell to have released. */
  readonly #open = new Map<string, ResourceIntent>();

  constructor(episode: EpisodeRun, options: RelayOptions) {
    const { cast, episodeId } = episode.parts;
    const { relay, driver } = cast;
    if (relay === undefined) throw new Error(`driver ${driver.name} names no server that plays its episodes`);
    this.#episode = episode;
    this.#options = options;
    this.#relay = relay;
    this.#client = relay.peer.client({ ...episode.clientOptions, onInstance: firstInstance() });
    this.#closing = relay.peer.client(episode.clientOptions);
    this.#intent = episode.intent({
      kind: ResourceKind.EPISODE,
      binding: relay.name,
      id: episodeKey(episodeId),
    });
  }

  /** Name of the server that plays. */
  get name(): string {
    return this.#relay.name;
  }

  async run(): Promise<Verdict> {
    this.#own();
    const outcome = await this.#bounded((signal) => this.#follow(signal));
    this.#checkId(outcome);
    this.outcome = outcome;
    return this.#verdict(outcome);
  }

  /** Clean-ups of the other server: what it told of them, and what it never told the end of. */
  get cleanUps(): CleanUp[] {
    const told = (this.outcome?.cleanUps ?? []).map((cleanUp) => {
      const copy = clone(CleanUpSchema, cleanUp);
      if (cleanUp.resource !== undefined) copy.resource = intentHere(this.name, cleanUp.resource);
      return copy;
    });
    const known = new Set(told.map(({ resource }) => resource?.id));
    const untold = [...this.#open.values()].filter(({ id }) => !known.has(id));
    return [...told, ...untold.map((resource) => create(CleanUpSchema, { resource, failure: endUnknown() }))];
  }

  #own(): void {
    const { stack, parts } = this.#episode;
    // Done behind its end: then all of it has been recorded there.
    stack.defer(`trajectory of ${this.#intent.id}`, ({ signal }) => this.#readTrajectory(signal));
    stack.own({
      intent: this.#intent,
      boundary: Boundary.EPISODE,
      release: async (options) => {
        if (this.outcome !== undefined) return undefined;
        const reason = parts.stopReason() || "the episode that relays it has ended";
        this.outcome = await endEpisode(this.#closing, { episodeId: parts.episodeId, reason }, options);
        return undefined;
      },
    });
  }

  async #readTrajectory(signal: AbortSignal | undefined): Promise<void> {
    const { trajectory, episodeId } = this.#episode.parts;
    const missing = this.outcome?.trajectory?.missingReason ?? "";
    if (missing !== "") trajectory.miss(missing);
    try {
      const records = this.#closing.readTrajectory({ episodeId }, signal === undefined ? {} : { signal });
      for await (const { agentId, record } of records) trajectory.add(agentId, record);
    } catch {
      trajectory.miss("what the other episode server recorded could not be read to its end");
    }
  }

  /** Bounds the whole: the other server has the same bounds of its phases, and ends by them itself. */
  async #bounded<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { phases, parts } = this.#episode;
    const { queueMs, episodeMs, verificationMs, cleanUpMs } = parts.timeouts;
    const attempts = parts.request.verifyAttempts ?? 1;
    const ms = queueMs + episodeMs + verificationMs * attempts + cleanUpMs * theirCleanUps;
    const late = new AbortController();
    const timer = parts.clock.setTimer(ms, () => late.abort(tooLate(ms)));
    const signal = AbortSignal.any([phases.signal, late.signal]);
    try {
      signal.throwIfAborted();
      return await work(signal);
    } catch (error) {
      if (signal.aborted) throw cutFailure(signal.reason, error);
      throw failureOf(error, { boundary: Boundary.EPISODE, lost: FailureKind.UNAVAILABLE });
    } finally {
      timer.cancel();
    }
  }

  async #follow(signal: AbortSignal): Promise<EpisodeOutcome> {
    const { finish, timeouts } = this.#episode.parts;
    const events = this.#client.run(this.#request(), { signal, repeat: { withinMs: timeouts.seedMs } });
    let begun = false;
    const onFinish = (): void => {
      if (begun) void this.#finish(signal);
    };
    finish.addEventListener("abort", onFinish, { once: true });
    try {
      for await (const event of events) {
        if (!begun && event.sequence > 0n) {
          begun = true;
          // An episode that is not known there yet could not be stopped.
          if (finish.aborted) onFinish();
        }
        this.#tellOn(event);
      }
      return await events.result();
    } finally {
      finish.removeEventListener("abort", onFinish);
    }
  }

  /** Stop FINISH; where it cannot be delivered the episode goes on to its own end. */
  async #finish(signal: AbortSignal): Promise<void> {
    const { episodeId, stopReason } = this.#episode.parts;
    const request = { episodeId, mode: StopMode.FINISH, reason: stopReason() };
    await this.#client.stop(request, { signal }).catch(() => undefined);
  }

  /** The same request, by names of the other server; where the run asks for no bounds, ours hold. */
  #request(): RunRequest {
    const { request, timeouts } = this.#episode.parts;
    const relayed = clone(RunRequestSchema, request);
    const { queue } = request.timeouts ?? {};
    relayed.driver = this.#options.driver;
    relayed.optionsJson = this.#options.optionsJson;
    relayed.timeouts = describeTimeouts(timeouts);
    if (queue === undefined) delete relayed.timeouts.queue;
    relayed.unreleased = intentsThere(this.name, request.unreleased);
    relayed.afterSequence = 0n;
    return relayed;
  }

  #tellOn({ event }: EpisodeEvent): void {
    const episode = this.#episode;
    switch (event.case) {
      case "accepted":
        if (event.value.endpoint !== undefined) this.#moved(event.value.endpoint);
        return;
      case "stage":
        episode.phases.begin(event.value.stage, event.value.agentId, event.value.index);
        return;
      case "step":
      case "item":
        episode.tell(event);
        return;
      case "resourceIntent": {
        const intent = intentHere(this.name, event.value);
        this.#open.set(intent.id, intent);
        episode.tell({ case: "resourceIntent", value: intent });
        return;
      }
      case "resourceReleased": {
        const { binding, id } = event.value;
        this.#open.delete(id);
        const value = { ...event.value, binding: nameHere(this.name, binding) };
        episode.tell({ case: "resourceReleased", value });
        return;
      }
      default:
        return;
    }
  }

  /** Further calls go elsewhere (ALL-SCOPE-003). */
  #moved(endpoint: Endpoint): void {
    const { clientOptions, stack } = this.#episode;
    this.#client = this.#relay.peer.client({ ...clientOptions, onInstance: firstInstance() }, endpoint);
    this.#closing = this.#relay.peer.client(clientOptions, endpoint);
    stack.moved(this.#intent.id, endpoint);
  }

  #checkId({ context }: EpisodeOutcome): void {
    if (sameEpisode(context?.episodeId, this.#episode.parts.episodeId)) return;
    const found = context?.episodeId === undefined ? "none" : episodeKey(context.episodeId);
    throw wrongOutcome(`expected the outcome of episode ${this.#intent.id}, found that of ${found}`);
  }

  /** The verdict as it was measured there; without a reward it stays without. */
  #verdict({ outcome }: EpisodeOutcome): Verdict {
    switch (outcome.case) {
      case "verdict":
        checkVerdict(outcome.value, undefined);
        return external(outcome.value);
      case "failure": {
        const rpc = rpcName(EpisodeService.method.run);
        throw answeredFailure(outcome.value, { boundary: Boundary.EPISODE, rpc });
      }
      case undefined:
        // ALL-FAIL-006
        throw wrongOutcome("the other episode server told neither a verdict nor a failure");
    }
  }
}

function wrongOutcome(reason: string): OperationFailure {
  return new OperationFailure({ kind: FailureKind.PROTOCOL_VIOLATION, retry: Retry.NEVER, reason });
}

function tooLate(ms: number): OperationFailure {
  return new OperationFailure({
    kind: FailureKind.TIMEOUT,
    retry: Retry.NEW_ATTEMPT,
    reason: `the other episode server told no outcome within ${ms} ms, the sum of all bounds`,
  });
}

/** Why the wait was cut, with what was seen of the call. */
function cutFailure(reason: unknown, error: unknown): unknown {
  if (reason instanceof OperationFailure && error instanceof CallError) {
    reason.failure.causes.push(causeOf(error, Boundary.EPISODE, reason.failure.kind));
  }
  return reason;
}

function endUnknown() {
  const unknown = new OperationFailure({
    kind: FailureKind.UNAVAILABLE,
    retry: Retry.NEVER,
    reason: "the other episode server did not tell whether it was released",
  });
  return toFailure(unknown, { stage: Stage.CLEAN_UP });
}
