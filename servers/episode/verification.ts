import { create } from "@bufbuild/protobuf";
import { type ClientCallOptions, type EnvironmentClient, rpcName } from "../../clients/index.js";
import {
  type Artifact,
  Boundary,
  EnvironmentService,
  type Failure,
  FailureKind,
  MaskSchema,
  OnAgentFailure,
  Retry,
  type SessionDescriptor,
  Stage,
  type Submission,
  SubmissionSchema,
  type Verdict,
} from "../../gen/index.js";
import { fromMs, toMs } from "../runtime/duration.js";
import { cutText, OperationFailure } from "../runtime/failure.js";
import { pause } from "../runtime/pause.js";
import { answeredFailure } from "./answered-failure.js";
import { checkVerdict } from "./check-verdict.js";
import type { EpisodeRun } from "./episode-run.js";

/** The session that is verified. */
export interface Verified {
  readonly client: EnvironmentClient;
  readonly sessionId: string;
  readonly session: SessionDescriptor;
  /** Number of its first verification. */
  readonly index: number;
  /** The last one; else the session lives on. */
  readonly final: boolean;
}

/** A verification of an episode's session, repeated under the next index where that may help. */
export class Verification {
  /** What was handed in. */
  readonly submission: Submission;
  /** What the environment collected for it. */
  collected: Artifact[] = [];
  /** Number of the next verification of the session. */
  nextIndex: number;
  readonly #episode: EpisodeRun;
  readonly #verified: Verified;

  constructor(episode: EpisodeRun, verified: Verified) {
    this.#episode = episode;
    this.#verified = verified;
    this.nextIndex = verified.index;
    this.submission = create(SubmissionSchema, { agents: episode.agents.submissions });
  }

  /** Verifies; a failure that the next index may cure is repeated within the run's bound (EPI-E6-013, EPI-AGF-003). */
  async run(): Promise<Verdict> {
    const attempts = this.#episode.parts.request.verifyAttempts ?? 1;
    const { index: first } = this.#verified;
    for (;;) {
      const index = this.nextIndex;
      this.nextIndex += 1;
      const result = await this.#episode.phases.run(
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
        (options) => this.#verify(index, { options, mayFail: index + 1 - first < attempts }),
      );
      if ("verdict" in result) return this.#accept(result.verdict);
      await this.#waitFor(result.again);
    }
  }

  /** One verification: a verdict, or a failure after which another one may follow. Throws any other failure. */
  async #verify(
    index: number,
    { options, mayFail }: { options: ClientCallOptions; mayFail: boolean },
  ): Promise<{ readonly verdict: Verdict } | { readonly again: Failure }> {
    const { client, sessionId, session, index: first, final } = this.#verified;
    const target = {
      $typeName: "touchstone.v1.SessionVerification",
      sessionId,
      verificationIndex: index,
      final,
      verifierState: session.verifierState,
    } as const;
    const { outcome, collected } = await client.verify(
      {
        target: { case: "session", value: target },
        // A repeat of the last one verifies again what was handed in first.
        ...(index === first || !final ? { submission: this.submission } : {}),
        timeout: fromMs(this.#episode.parts.timeouts.verificationMs),
      },
      options,
    );
    this.collected = collected;
    switch (outcome.case) {
      case "verdict":
        return { verdict: outcome.value };
      case "failure":
        if (mayFail && outcome.value.retry === Retry.NEXT_INDEX) return { again: outcome.value };
        throw failed(outcome.value);
      case undefined:
        throw noOutcome();
    }
  }

  /** Waits as a failed verification advises, unless that is longer than one may take (EPI-E6-008). */
  async #waitFor(failure: Failure): Promise<void> {
    const { phases, parts } = this.#episode;
    const ms = failure.retryAfter === undefined ? 0 : toMs(failure.retryAfter);
    if (ms > parts.timeouts.verificationMs) throw failed(failure);
    if (ms > 0) await pause(ms, { clock: parts.clock, signal: phases.signal });
  }

  /** The verdict as the environment gave it (EPI-RUN-005), masked where the run wants that of a failed agent. */
  #accept(verdict: Verdict): Verdict {
    checkVerdict(verdict, this.#verified.session.declarations?.reward);
    const { agents, parts } = this.#episode;
    const failed = agents.ends.find(({ failure }) => failure !== undefined);
    if (
      this.#verified.final &&
      failed !== undefined &&
      parts.request.onAgentFailure === OnAgentFailure.VERIFY_MASKED
    ) {
      // EPI-AGF-002
      verdict.masked ??= create(MaskSchema, {
        reason: "agent_failure",
        explanation: cutText(`agent ${failed.agentId} failed: ${failed.failure?.reason ?? ""}`, 2000),
      });
    }
    return verdict;
  }
}

function failed(failure: Failure): OperationFailure {
  const rpc = rpcName(EnvironmentService.method.verify);
  return answeredFailure(failure, { boundary: Boundary.ENVIRONMENT, rpc });
}

/** A result with neither a verdict nor a failure that is known here is never read as success (ALL-FAIL-006). */
function noOutcome(): OperationFailure {
  return new OperationFailure({
    kind: FailureKind.PROTOCOL_VIOLATION,
    stage: Stage.VERIFY,
    retry: Retry.NEVER,
    reason: "the environment ended Verify with neither a verdict nor a failure",
  });
}
