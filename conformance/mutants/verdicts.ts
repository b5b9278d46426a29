import {
  FailureKind,
  Retry,
  type Verdict,
  VerifyIsolation,
  type VerifyRequest,
  type VerifyResult,
} from "../../gen/index.js";
import { OperationFailure } from "../../servers/index.js";
import { Refusal } from "../../servers/runtime/refusal.js";
import type { ReferenceWorld } from "../reference/world.js";
import {
  around,
  aroundStream,
  inAnswers,
  inDescriptors,
  inRequests,
  instead,
  inVerdicts,
  sessionOf,
} from "./calls.js";
import { inFailures, reasonOf } from "./errors-told.js";
import { inventedStep, inventedVerdict, inventedVerification, newName } from "./invented.js";
import type { Build, Mutant } from "./mutant.js";
import { knowingSteps } from "./order.js";
import { inWorld, together } from "./seams.js";

const isFinal = ({ target }: VerifyRequest): boolean => target.case === "session" && target.value.final;

const inResults = (change: (result: VerifyResult, request: VerifyRequest) => void): Build =>
  inAnswers("verify", ({ event }, request) => {
    if (event.case === "result") change(event.value, request);
  });

const rewarded = (change: (value: number, verdict: Verdict) => number | undefined): Build =>
  inVerdicts((verdict) => {
    if (verdict.reward === undefined) return;
    const value = change(verdict.reward.value, verdict);
    if (value === undefined) verdict.reward = undefined;
    else verdict.reward.value = value;
  });

/** Answers a verdict of 0 in the place of some failures. */
const zeroFor = (when: (kind: FailureKind) => boolean): Build =>
  inResults((result) => {
    const { outcome } = result;
    if (outcome.case === "failure" && when(outcome.value.kind))
      result.outcome = inventedVerdict as typeof result.outcome;
  });

const failing = (when: (work: Parameters<ReferenceWorld["verify"]>[0]) => boolean): Build =>
  inWorld(({ verify }) => ({
    verify(work) {
      if (when(work))
        throw new OperationFailure({
          kind: FailureKind.VERIFIER_FAILED,
          retry: Retry.NEVER,
          reason: "there is nothing to verify",
        });
      return verify(work);
    },
  }));

/** Refuses steps of a session behind some verifications of it. */
const fencedBy = (when: (request: VerifyRequest) => boolean): Build => {
  const fenced = new Set<string>();
  return together(
    inRequests("verify", (request) => {
      if (when(request)) fenced.add(sessionOf(request));
    }),
    around("step", async ({ request }, next) => {
      if (fenced.has(request.sessionId)) throw new Refusal("EPISODE_ENDED", "it was verified");
      return await next();
    }),
  );
};

const finalFailureEnds = (): Build => {
  const failed = new Set<string>();
  return aroundStream("verify", async function* ({ request }, next) {
    if (failed.has(`${sessionOf(request)}`) && isFinal(request))
      throw new Refusal("EPISODE_ENDED", "the final verification is done");
    for await (const message of next()) {
      const { event } = message;
      if (event.case === "result" && event.value.outcome.case === "failure" && isFinal(request))
        failed.add(sessionOf(request));
      yield message;
    }
  });
};

/** Reads nothing of what holds more than chat messages. */
const skipsUnread = inRequests("verify", ({ submission }) => {
  for (const agent of submission?.agents ?? []) {
    if (agent.items.some(({ kind }) => kind.case !== "chatMessage")) agent.items = [];
  }
});

const text = new TextDecoder("utf-8", { fatal: true });
const isText = (bytes: Uint8Array): boolean => {
  try {
    text.decode(bytes);
    return true;
  } catch {
    return false;
  }
};

/** Verify: verdicts and failures. */
export const verdictMutants: readonly Mutant[] = [
  {
    name: "empty-outcome",
    clause: "ENV-VRFY-001",
    what: "answers neither a verdict nor a failure",
    build: inResults((result) => {
      result.outcome = { case: undefined };
    }),
  },
  {
    name: "verdict-off-by-one",
    clause: "ENV-VRFY-002",
    what: "rewards work by one too much",
    build: rewarded((value) => value + 1),
  },
  {
    name: "zero-sent-as-absent",
    clause: "ENV-VRFY-003",
    what: "leaves out a reward of 0",
    build: rewarded((value) => (value === 0 ? undefined : value)),
  },
  {
    name: "undeclared-component",
    clause: "ENV-VRFY-004",
    what: "tells components that it does not declare",
    build: inVerdicts(({ components }) => {
      components["style"] = 1;
    }),
  },
  {
    name: "nan-reward-sent",
    clause: "ENV-VRFY-005",
    what: "tells a reward that is none",
    build: inResults((result) => {
      const { outcome } = result;
      if (outcome.case === "failure" && outcome.value.kind === FailureKind.INVALID_REWARD)
        result.outcome = {
          case: "verdict",
          value: { ...inventedVerdict.value, reward: { value: Number.NaN } },
        } as unknown as typeof result.outcome;
    }),
  },
  {
    name: "rewards-summed-twice",
    clause: "ENV-VRFY-006",
    what: "adds the steps' rewards a second time",
    build: rewarded((value, { components }) => 2 * value - (components["answer"] ?? 0)),
  },
  {
    name: "empty-is-failure",
    clause: "ENV-VRFY-007",
    what: "fails over work that is empty",
    build: failing(({ answer, artifacts }) => answer === "" && artifacts.size === 0),
  },
  {
    name: "garbage-is-failure",
    clause: "ENV-VRFY-008",
    what: "fails over artifacts that it cannot read",
    build: failing(({ artifacts }) => {
      const body = artifacts.get("answer")?.body;
      return body?.case === "inline" && !isText(body.value);
    }),
  },
  {
    name: "judge-down-is-zero",
    clause: "ENV-VRFY-009",
    what: "tells a failure of its verifier as 0",
    build: zeroFor((kind) => kind !== FailureKind.TIMEOUT && kind !== FailureKind.CANCELLED),
  },
  {
    name: "budget-end-is-failure",
    clause: "ENV-VRFY-010",
    what: "fails over work that a budget ended",
    build: failing(({ submission }) => submission.agents.some(({ agentEnd }) => agentEnd !== undefined)),
  },
  {
    name: "nonfinal-ends",
    clause: "ENV-VRFY-011",
    what: "takes no step behind a verification",
    build: fencedBy((request) => !isFinal(request)),
  },
  {
    name: "timeout-is-zero",
    clause: "ENV-VRFY-012",
    what: "tells a verification that took too long as 0",
    build: zeroFor((kind) => kind === FailureKind.TIMEOUT),
  },
  {
    name: "rate-limit-never",
    clause: "ENV-VRFY-013",
    what: "says that a limited judge never answers",
    build: inFailures((failure) => {
      if (failure.kind === FailureKind.JUDGE_RATE_LIMITED) failure.retry = Retry.NEVER;
    }),
  },
  {
    name: "mask-without-reason",
    clause: "ENV-VRFY-014",
    what: "masks a verdict without a reason",
    build: inVerdicts(({ masked }) => {
      if (masked !== undefined) masked.reason = "";
    }),
  },
  {
    name: "list-content-is-0",
    clause: "ENV-VRFY-015",
    what: "skips items that it cannot read",
    build: skipsUnread,
  },
  {
    name: "verdict-random",
    clause: "ENV-VRFY-017",
    what: "rewards equal work otherwise each time",
    build: rewarded((value) => value * (0.5 + Math.random() / 2)),
  },
  {
    name: "final-repeatable",
    clause: "ENV-VRFY-018",
    what: "verifies again behind the final verdict",
    build: aroundStream("verify", async function* (_call, next) {
      try {
        yield* next();
      } catch (error) {
        if (reasonOf(error) !== "EPISODE_ENDED") throw error;
        yield* inventedVerification();
      }
    }),
  },
  {
    name: "provenance-empty",
    clause: "ENV-VRFY-019",
    what: "does not say who verified",
    build: inVerdicts((verdict) => {
      verdict.provenance = undefined;
    }),
  },
  {
    name: "final-failure-ends",
    clause: "ENV-VRFY-024",
    what: "ends the episode by a final verification that failed for now",
    build: finalFailureEnds(),
  },
  {
    name: "isolation-untold",
    clause: "ENV-ISOL-001",
    what: "does not say how it verified apart",
    build: inVerdicts(({ provenance }) => {
      if (provenance !== undefined) provenance.isolation = VerifyIsolation.UNSPECIFIED;
    }),
  },
  {
    name: "steps-during-verify",
    clause: "ENV-FENC-001",
    what: "takes steps behind the final verification",
    build: instead("step", (error) => reasonOf(error) === "EPISODE_ENDED", inventedStep),
  },
  {
    name: "final-beside-step",
    clause: "ENV-FENC-007",
    what: "verifies finally while a step runs",
    build: knowingSteps((running) =>
      aroundStream("verify", async function* ({ request }, next) {
        const beside = isFinal(request) && (running.get(sessionOf(request)) ?? 0) > 0;
        yield* beside ? inventedVerification() : next();
      }),
    ),
  },
  {
    name: "nonfinal-fences",
    clause: "ENV-FENC-008",
    what: "ends the episode by a verification that is not final",
    build: fencedBy((request) => !isFinal(request)),
  },
  {
    name: "state-trusted",
    clause: "ENV-SLVR-003",
    what: "does not look at verifier_state",
    build: inRequests("verify", ({ target }) => {
      if (target.case === "session") target.value.verifierState = new Uint8Array();
    }),
  },
  {
    name: "stateless-differs",
    clause: "ENV-SLVR-001",
    what: "rewards otherwise without a session",
    build: inResults(({ outcome }, { target }) => {
      if (target.case === "stateless" && outcome.case === "verdict" && outcome.value.reward !== undefined)
        outcome.value.reward.value += 1;
    }),
  },
  {
    name: "stateless-re-executes",
    clause: "ENV-SLVR-002",
    what: "verifies without a session anew each time",
    build: inResults((result, { target }) => {
      if (target.case === "stateless") result.answerId = newName("again");
    }),
  },
  {
    name: "steps-ignored",
    clause: "ENV-SLVR-005",
    what: "does not read the steps of a submission",
    build: inRequests("verify", ({ target, submission }) => {
      if (target.case === "stateless" && submission !== undefined) submission.steps = [];
    }),
  },
  {
    name: "stateless-needs-memory",
    clause: "ENV-SLVR-004",
    what: "verifies only what it has begun itself",
    build: (() => {
      let begun = false;
      return together(
        inDescriptors(() => {
          begun = true;
        }),
        inRequests("verify", () => {
          if (!begun) throw new Refusal("SESSION_UNKNOWN", "no session of this id is known here");
        }),
      );
    })(),
  },
];
