import { create } from "@bufbuild/protobuf";
import { type ClientCallOptions, type EnvironmentClient, rpcName } from "../../clients/index.js";
import {
  type Artifact,
  Boundary,
  EnvironmentService,
  type EnvironmentServiceCloseResponse,
  FailureKind,
  Feature,
  MaskSchema,
  OnAgentFailure,
  type Reference,
  ResourceKind,
  Retry,
  type SeedResponse,
  type SessionDescriptor,
  Stage,
  type Submission,
  SubmissionSchema,
  type Verdict,
  type VerifyResult,
} from "../../gen/index.js";
import { fromMs, toMs } from "../runtime/duration.js";
import { cutText, OperationFailure } from "../runtime/failure.js";
import { answeredFailure } from "./answered-failure.js";
import { checkVerdict, mayVerifyAgain, noOutcome } from "./check-verdict.js";
import type { EpisodeRun } from "./episode-run.js";
import { pause } from "./pause.js";
import { StepWatch } from "./step-watch.js";
import { weakerSession } from "./weaker-echoes.js";

/** The environment's side of an episode: its session, what is handed in, what is measured. */
export class EnvironmentTurns {
  session: SessionDescriptor | undefined;
  /** The task's solution, where the run asked for it. */
  reference: Reference | undefined;
  submission: Submission | undefined;
  collected: Artifact[] = [];
  receipt: EnvironmentServiceCloseResponse | undefined;
  readonly #episode: EpisodeRun;
  readonly #sessionId: string;
  /** For what follows Seed: it takes answers of the instance that made the session only (EPI-E6-011). */
  #client: EnvironmentClient | undefined;
  /** For Close, which any instance may answer. */
  #closing: EnvironmentClient | undefined;
  #watch: StepWatch | undefined;

  constructor(episode: EpisodeRun) {
    this.#episode = episode;
    this.#sessionId = episode.newId("e");
  }

  /** The environment tells the steps that are taken in its sessions. */
  get tellsSteps(): boolean {
    const { service } = this.#episode.parts.described.environment;
    return service?.features.includes(Feature.WATCH_STEPS) ?? false;
  }

  async seed(): Promise<SessionDescriptor> {
    return await this.#episode.phases.run(
      {
        stage: Stage.SEED,
        timing: "seed",
        boundary: Boundary.ENVIRONMENT,
        bound: "seedMs",
        inEpisodeClock: true,
        refused: FailureKind.SEED_FAILED,
      },
      (options) => this.#seed(options),
    );
  }

  async #seed(options: ClientCallOptions): Promise<SessionDescriptor> {
    const episode = this.#episode;
    const { request, cast, described, timeouts } = episode.parts;
    const { environment } = cast;
    let instance: string | undefined;
    const onInstance = (id: string): void => {
      instance = id;
    };
    const opening = environment.client({ ...episode.clientOptions, onInstance });
    // E1: registered and told before the call that makes it.
    this.#own(opening);
    const needs = [...described.agents].flatMap(
      ([
        agentId,
        {
          agent: { sandboxRequirements },
        },
      ]) => (sandboxRequirements === undefined ? [] : [{ agentId, requirements: sandboxRequirements }]),
    );
    const response = await opening.seed(
      {
        sessionId: this.#sessionId,
        ...episode.context,
        source: request.source,
        ...(request.envSeed === undefined ? {} : { seed: request.envSeed }),
        wantReference: request.giveReference && episode.agents.someoneTakesReference,
        agentRequirements: needs,
        sandboxProvider: request.sandbox,
        timeout: fromMs(timeouts.seedMs),
      },
      options,
    );
    const session = seeded(response);
    this.session = session;
    this.reference = response.reference;
    const { endpoint, lease } = session;
    if (endpoint !== undefined) {
      this.#closing = environment.client(episode.clientOptions, endpoint);
      episode.stack.moved(this.#sessionId, endpoint);
    }
    const client = environment.client(episode.following({ instance, endpoint }), endpoint);
    this.#client = client;
    const sessionId = this.#sessionId;
    episode.renewals.start({
      id: sessionId,
      boundary: Boundary.ENVIRONMENT,
      lease,
      renew: async (signal) => (await client.keepAlive({ sessionId }, { signal })).lease,
    });
    const task = request.source.case === "task" ? request.source.value : undefined;
    episode.unenforced.push(
      ...weakerSession(
        session,
        task,
        needs.map(({ requirements }) => requirements),
      ),
    );
    this.#watchSteps(client);
    return session;
  }

  #own(opening: EnvironmentClient): void {
    const episode = this.#episode;
    const { request, episodeId } = episode.parts;
    const sessionId = this.#sessionId;
    this.#closing = opening;
    // Done behind the session's Close, which ends the feed.
    episode.stack.defer(`steps of ${sessionId}`, async ({ signal }) => await this.#watch?.end(signal));
    episode.stack.own({
      intent: episode.intent({
        kind: ResourceKind.ENVIRONMENT_SESSION,
        binding: request.environment,
        id: sessionId,
      }),
      boundary: Boundary.ENVIRONMENT,
      release: async (options) => {
        episode.renewals.stop(sessionId);
        this.receipt = await (this.#closing ?? opening).close({ sessionId, episodeId }, options);
        return this.receipt.receipt;
      },
    });
  }

  #watchSteps(client: EnvironmentClient): void {
    if (!this.tellsSteps) return;
    const { trajectory } = this.#episode.parts;
    this.#watch = new StepWatch(client, this.#sessionId, {
      onStep: (step) => {
        trajectory.add("", { case: "step", value: step });
        this.#episode.tell({ case: "step", value: step });
      },
      onMissing: (why) => trajectory.miss(why),
    });
  }

  /** Verifies; a failure that the next index may cure is repeated within the run's bound (EPI-E6-013, EPI-AGF-003). */
  async verify(): Promise<Verdict> {
    const episode = this.#episode;
    const attempts = episode.parts.request.verifyAttempts ?? 1;
    this.submission = create(SubmissionSchema, { agents: episode.agents.submissions });
    for (let index = 0; ; index += 1) {
      const result = await episode.phases.run(
        {
          stage: Stage.VERIFY,
          timing: "verify",
          boundary: Boundary.ENVIRONMENT,
          bound: "verificationMs",
          index,
          // EPI-E5-005: episode_timeout never cuts Verify.
          inEpisodeClock: false,
          refused: FailureKind.VERIFIER_FAILED,
        },
        (options) => this.#verifyOnce(index, { options, again: index + 1 < attempts }),
      );
      if (result.outcome.case === "verdict") return this.#accept(result.outcome.value);
      await this.#waitForNext(result);
    }
  }

  /** One verification. Throws its failure, unless it may be made again. */
  async #verifyOnce(
    index: number,
    { options, again }: { options: ClientCallOptions; again: boolean },
  ): Promise<VerifyResult> {
    const { session, submission } = this;
    if (this.#client === undefined || session === undefined) throw new Error("Verify before Seed");
    const target = {
      $typeName: "touchstone.v1.SessionVerification",
      sessionId: this.#sessionId,
      verificationIndex: index,
      final: true,
      verifierState: session.verifierState,
    } as const;
    const result = await this.#client.verify(
      {
        target: { case: "session", value: target },
        // A repeat under the next index verifies again what was handed in first.
        ...(index === 0 && submission !== undefined ? { submission } : {}),
        timeout: fromMs(this.#episode.parts.timeouts.verificationMs),
      },
      options,
    );
    this.collected = result.collected;
    switch (result.outcome.case) {
      case "verdict":
        return result;
      case "failure": {
        if (again && mayVerifyAgain(result)) return result;
        const rpc = rpcName(EnvironmentService.method.verify);
        throw answeredFailure(result.outcome.value, { boundary: Boundary.ENVIRONMENT, rpc });
      }
      case undefined:
        throw noOutcome();
    }
  }

  /** Waits as a failed verification advises, unless that is longer than one may take (EPI-E6-008). */
  async #waitForNext({ outcome }: VerifyResult): Promise<void> {
    if (outcome.case !== "failure" || outcome.value.retryAfter === undefined) return;
    const { phases, parts } = this.#episode;
    const ms = toMs(outcome.value.retryAfter);
    if (ms > parts.timeouts.verificationMs) {
      const rpc = rpcName(EnvironmentService.method.verify);
      throw answeredFailure(outcome.value, { boundary: Boundary.ENVIRONMENT, rpc });
    }
    await pause(parts.clock, ms, phases.signal);
  }

  /** The verdict as the environment gave it (EPI-RUN-005), masked where the run wants that of a failed agent. */
  #accept(verdict: Verdict): Verdict {
    checkVerdict(verdict, this.session?.declarations?.reward);
    const failed = this.#episode.agents.ends.find(({ failure }) => failure !== undefined);
    if (failed !== undefined && this.#episode.parts.request.onAgentFailure === OnAgentFailure.VERIFY_MASKED) {
      // EPI-AGF-002
      verdict.masked ??= create(MaskSchema, {
        reason: "agent_failure",
        explanation: cutText(`agent ${failed.agentId} failed: ${failed.failure?.reason ?? ""}`, 2000),
      });
    }
    return verdict;
  }
}

/** The session of an answer to Seed. Throws where there is none that a driver could go on with. */
function seeded({ session }: SeedResponse): SessionDescriptor {
  if (session !== undefined && session.agents.length > 0) return session;
  throw new OperationFailure({
    kind: FailureKind.PROTOCOL_VIOLATION,
    retry: Retry.NEVER,
    reason: `the environment answered Seed without ${session === undefined ? "a session" : "an agent"}`,
  });
}
