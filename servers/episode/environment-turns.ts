import { create } from "@bufbuild/protobuf";
import type { CallOptions, EnvironmentClient } from "../../clients/index.js";
import {
  type Artifact,
  Boundary,
  type EnvironmentServiceCloseResponse,
  FailureKind,
  OnAgentFailure,
  type Reference,
  ResourceKind,
  Retry,
  type RewardDeclaration,
  type SessionDescriptor,
  Stage,
  type Submission,
  SubmissionSchema,
  type Task,
  type Verdict,
  type VerifyResult,
} from "../../gen/index.js";
import { fromMs, toMs } from "../runtime/duration.js";
import { OperationFailure } from "../runtime/failure.js";
import { checkedReward } from "../runtime/reward.js";
import { type EpisodeRun, expecting } from "./episode-run.js";

/** The environment's side of an episode: its session, what is handed in, what is measured. */
export class EnvironmentTurns {
  session: SessionDescriptor | undefined;
  reference: Reference | undefined;
  submission: Submission | undefined;
  collected: Artifact[] = [];
  receipt: EnvironmentServiceCloseResponse | undefined;
  #client: EnvironmentClient | undefined;

  constructor(private readonly episode: EpisodeRun) {}

  async seed(): Promise<SessionDescriptor> {
    const { episode } = this;
    const { request, cast, described, timeouts, episodeId } = episode.parts;
    const sessionId = episode.newId("e");
    let instance: string | undefined;
    const opening = cast.environment.client({
      ...episode.clientOptions,
      onInstance: (id) => {
        instance = id;
      },
    });
    let closing = opening;
    const wantReference = request.giveReference && episode.agents.someoneTakesReference();
    return await episode.phase(
      {
        stage: Stage.SEED,
        timing: "seed",
        boundary: Boundary.ENVIRONMENT,
        timeoutMs: timeouts.seedMs,
        inEpisodeClock: true,
      },
      async (options) => {
        // E1: registered and told before the call that makes it.
        episode.stack.own({
          intent: episode.intent({
            kind: ResourceKind.ENVIRONMENT_SESSION,
            binding: request.environment,
            id: sessionId,
          }),
          release: async (signal) => {
            episode.renewals.stop(sessionId);
            const closed = await closing.close({ sessionId, episodeId }, { signal });
            this.receipt = closed;
            return closed.receipt;
          },
        });
        const response = await opening.seed(
          {
            sessionId,
            ...(request.context === undefined ? {} : { context: request.context }),
            source: request.source,
            ...(request.envSeed === undefined ? {} : { seed: request.envSeed }),
            wantReference,
            agentRequirements: [...described.agents].flatMap(([agentId, { agent }]) =>
              agent.sandboxRequirements === undefined
                ? []
                : [{ agentId, requirements: agent.sandboxRequirements }],
            ),
            sandboxProvider: request.sandbox,
            timeout: fromMs(timeouts.seedMs),
          },
          options,
        );
        const { session } = response;
        if (session === undefined) {
          throw new OperationFailure({
            kind: FailureKind.PROTOCOL_VIOLATION,
            retry: Retry.NEVER,
            reason: "the environment answered Seed without a session",
          });
        }
        this.session = session;
        // What follows must meet the same instance: another one has lost the session (EPI-E6-011).
        const client = cast.environment.client(expecting(episode.clientOptions, instance), session.endpoint);
        this.#client = client;
        closing = cast.environment.client(episode.clientOptions, session.endpoint);
        this.reference = response.reference;
        episode.renewals.start(
          sessionId,
          session.lease,
          async () => (await client.keepAlive({ sessionId })).lease,
        );
        this.#compareLimits(request.source.case === "task" ? request.source.value : undefined, session);
        return session;
      },
    );
  }

  /** Verifies; a failure that the next index may cure is repeated within the run's bound (EPI-E6-013, EPI-AGF-003). */
  async verify(): Promise<Verdict> {
    const { episode } = this;
    const { request, timeouts, clock } = episode.parts;
    const attempts = request.verifyAttempts ?? 1;
    this.submission = create(SubmissionSchema, { agents: episode.agents.submissions() });
    for (let index = 0; ; index += 1) {
      const result = await episode.phase(
        {
          stage: Stage.VERIFY,
          timing: "verify",
          boundary: Boundary.ENVIRONMENT,
          timeoutMs: timeouts.verificationMs,
          index,
          // E5: episode_timeout never cuts Verify.
          inEpisodeClock: false,
        },
        (options) => this.#verifyOnce(index, options),
      );
      this.collected = result.collected;
      if (result.outcome.case === "verdict") return this.#accept(result.outcome.value);
      if (result.outcome.case === undefined) {
        throw new OperationFailure({
          kind: FailureKind.PROTOCOL_VIOLATION,
          stage: Stage.VERIFY,
          retry: Retry.NEVER,
          reason: "the environment ended Verify with neither a verdict nor a failure",
        });
      }
      const failure = result.outcome.value;
      if (failure.retry !== Retry.NEXT_INDEX || index + 1 >= attempts) {
        // A driver starts no attempt itself: what the next index might have cured may be worth another attempt.
        throw new OperationFailure({
          ...failure,
          retry: failure.retry === Retry.NEXT_INDEX ? Retry.NEW_ATTEMPT : failure.retry,
        });
      }
      const wait = failure.retryAfter === undefined ? 0 : toMs(failure.retryAfter);
      if (wait > 0) await new Promise<void>((resolve) => clock.setTimer(wait, resolve));
    }
  }

  async #verifyOnce(index: number, options: CallOptions): Promise<VerifyResult> {
    const { session, submission } = this;
    if (this.#client === undefined || session === undefined) throw new Error("Verify before Seed");
    return await this.#client.verify(
      {
        target: {
          case: "session",
          value: {
            $typeName: "touchstone.v1.SessionVerification",
            sessionId: session.sessionId,
            verificationIndex: index,
            final: true,
            verifierState: session.verifierState,
          },
        },
        // A repeat under the next index verifies again what was handed in first.
        ...(index === 0 && submission !== undefined ? { submission } : {}),
        timeout: fromMs(this.episode.parts.timeouts.verificationMs),
      },
      options,
    );
  }

  /** The verdict as the environment gave it (EPI-RUN-005), masked where the run wants that of a failed agent. */
  #accept(verdict: Verdict): Verdict {
    const declared = this.session?.declarations?.reward;
    // EPI-OUT-010
    for (const reward of [verdict.reward, ...Object.values(verdict.agentRewards)]) {
      if (reward !== undefined) checkedReward(reward.value, rangeOf(declared), "the verdict's reward");
    }
    const failed = this.episode.agentEnds.find(({ failure }) => failure !== undefined);
    if (failed !== undefined && this.episode.parts.request.onAgentFailure === OnAgentFailure.VERIFY_MASKED) {
      verdict.masked ??= {
        $typeName: "touchstone.v1.Mask",
        reason: "agent_failure",
        explanation: `agent ${failed.agentId} failed: ${failed.failure?.reason ?? ""}`,
      };
    }
    return verdict;
  }

  /** What is echoed weaker than asked is told, never taken silently (EPI-RUN-020). */
  #compareLimits(task: Task | undefined, session: SessionDescriptor): void {
    const asked = task?.limits?.maxSteps;
    const held = session.limits?.maxSteps;
    if (asked !== undefined && (held === undefined || held > asked)) {
      this.episode.unenforced.push("environment: limits.max_steps");
    }
  }
}

function rangeOf(declared: RewardDeclaration | undefined): { minimum: number; maximum: number } {
  return {
    minimum: declared?.minimum ?? Number.NEGATIVE_INFINITY,
    maximum: declared?.maximum ?? Number.POSITIVE_INFINITY,
  };
}
