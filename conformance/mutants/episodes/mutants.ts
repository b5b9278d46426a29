import { create } from "@bufbuild/protobuf";
import type {
  AckRequest,
  AckResponse,
  ActivateRequest,
  AttachRequest,
  EpisodeServiceDescribeResponse,
  OpenGatewayRequest,
  OpenRequest,
  RunRequest,
  SeedRequest,
  StopRequest,
  StopResponse,
  VerifyRequest,
} from "../../../gen/index.js";
import { FailureKind, OnAgentFailure, Retry, Stage, StopMode, VerdictSchema } from "../../../gen/index.js";
import type { EpisodeMutant } from "../mutant.js";
import { aroundOutgoing, inAnswers, inEvents, inOutcome, inOutgoing, inRequests } from "./seams.js";

const environment = "EnvironmentService";
const agent = "AgentSessionService";
const model = "ModelService";

/** Leaves a call out and says that all is well: the part never hears of it. */
const unasked = (rpc: string) =>
  aroundOutgoing((call, next) =>
    call.rpc === rpc
      ? Promise.resolve({ message: { receipt: { cleanupConfirmed: true } }, info: noInfo })
      : next(call.request),
  );

const noInfo = {
  headers: { get: () => undefined, names: () => [] },
  trailers: { get: () => undefined, names: () => [] },
};

/** Episode servers that each break one clause. */
export const episodeMutants: readonly EpisodeMutant[] = [
  {
    name: "bindings-are-urls",
    clause: "EPI-DESC-001",
    what: "tells the addresses of its parts",
    build: inAnswers<EpisodeServiceDescribeResponse>("describe", ({ bindings }) => {
      if (bindings !== undefined) bindings.environments = ["http://127.0.0.1:7001"];
    }),
  },
  {
    name: "verify-before-close",
    clause: "EPI-RUN-002",
    what: "verifies before it closes the agent's session",
    build: (parts) => {
      let late: (() => unknown) | undefined;
      return aroundOutgoing((call, next) => {
        if (call.rpc === `${agent}.Close`) {
          late = () => next(call.request);
          return Promise.resolve({ message: { receipt: { cleanupConfirmed: true } }, info: noInfo });
        }
        const answer = next(call.request);
        if (call.rpc === `${environment}.Verify`) void late?.();
        return answer;
      })(parts);
    },
  },
  {
    name: "tools-dropped",
    clause: "EPI-RUN-004",
    what: "opens the agent without its tools",
    build: inOutgoing(`${agent}.Open`, (request: OpenRequest) => {
      request.tools = [];
    }),
  },
  {
    name: "zero-dropped",
    clause: "EPI-RUN-005",
    what: "tells a verdict without its metrics",
    build: inOutcome(({ outcome }) => {
      if (outcome.case === "verdict") outcome.value.metrics = {};
    }),
  },
  {
    name: "privileged-to-agent",
    clause: "EPI-RUN-006",
    what: "tells the agent what is privileged",
    build: (parts) => {
      let told = "";
      return inRequests<RunRequest>("run", ({ source }) => {
        if (source.case === "task") told = Buffer.from(source.value.privileged?.data ?? []).toString();
      })(
        inOutgoing(`${agent}.Open`, (request: OpenRequest) => {
          request.instructions = told;
        })(parts),
      );
    },
  },
  {
    name: "timings-zero",
    clause: "EPI-RUN-007",
    what: "tells no time that was taken",
    build: inOutcome((outcome) => {
      if (outcome.timings?.activate !== undefined)
        Object.assign(outcome.timings.activate, { seconds: 0n, nanos: 0 });
    }),
  },
  {
    name: "no-calls-scored",
    clause: "EPI-RUN-010",
    what: "scores an agent that never called its model",
    build: aroundOutgoing((call, next) => {
      const answer = next(call.request);
      if (call.rpc !== `${model}.CloseGateway`) return answer;
      return Promise.resolve(answer).then((closed) => {
        Object.assign((closed as { message: object }).message, { calls: 3n });
        return closed;
      });
    }),
  },
  {
    name: "binding-defaulted",
    clause: "EPI-RUN-012",
    what: "takes another agent for one that it does not know",
    build: inRequests<RunRequest>("run", ({ agents }) => {
      for (const one of agents) one.agent = "agent";
    }),
  },
  {
    name: "address-taken",
    clause: "EPI-RUN-013",
    what: "takes an address for a name",
    build: inRequests<RunRequest>("run", (request) => {
      if (request.environment.startsWith("http")) request.environment = "environment";
    }),
  },
  {
    name: "env-seed-dropped",
    clause: "EPI-RUN-014",
    what: "seeds the world with a number of another size",
    build: inOutgoing(`${environment}.Seed`, (request: SeedRequest) => {
      if (request.seed !== undefined) request.seed = BigInt(Number(request.seed));
    }),
  },
  {
    name: "budget-dropped",
    clause: "EPI-RUN-015",
    what: "opens the gateway without sampling",
    build: inOutgoing(`${model}.OpenGateway`, (request: OpenGatewayRequest) => {
      delete request.sampling;
    }),
  },
  {
    name: "submission-emptied",
    clause: "EPI-RUN-016",
    what: "verifies without what was handed in",
    build: inOutgoing(`${environment}.Verify`, (request: VerifyRequest) => {
      for (const one of request.submission?.agents ?? []) one.items = [];
    }),
  },
  {
    name: "gateway-key-told",
    clause: "EPI-GATE-004",
    what: "tells the gateway's key",
    build: inOutcome((outcome) => {
      outcome.stopReason = "gateway-key";
    }),
  },
  {
    name: "gateway-unlent",
    clause: "EPI-GATE-001",
    what: "does not lend the agent its gateway",
    build: inOutgoing(`${agent}.Open`, (request: OpenRequest) => {
      for (const access of request.modelAccesses) access.apiKey = "";
    }),
  },
  {
    name: "agent-never-closed",
    clause: "EPI-E2-002",
    what: "never closes the agent's session",
    build: unasked(`${agent}.Close`),
  },
  {
    name: "lost-open-forgotten",
    clause: "EPI-E1-001",
    what: "does not close an agent session whose Open was not answered",
    build: unasked(`${agent}.Close`),
  },
  {
    name: "lost-seed-forgotten",
    clause: "EPI-E1-002",
    what: "does not close an environment session that may never have been",
    build: unasked(`${environment}.Close`),
  },
  {
    name: "intents-late",
    clause: "EPI-E1-003",
    what: "tells no intent before the end",
    build: inEvents((event) => (event.event.case === "resourceIntent" ? undefined : event)),
  },
  {
    name: "intent-without-id",
    clause: "EPI-E1-004",
    what: "tells intents of another id",
    build: inEvents((event) => {
      if (event.event.case === "resourceIntent") event.event.value.id = "x";
      return event;
    }),
  },
  {
    name: "released-untold",
    clause: "EPI-E1-005",
    what: "tells no release",
    build: inEvents((event) => (event.event.case === "resourceReleased" ? undefined : event)),
  },
  {
    name: "left-untold",
    clause: "EPI-E1-006",
    what: "says that all was released",
    build: inOutcome(({ cleanUps }) => {
      for (const one of cleanUps) one.released = true;
    }),
  },
  {
    name: "new-name-on-retry",
    clause: "EPI-E6-003",
    what: "asks again under another name",
    build: (parts) => {
      const asked = new Map<string, number>();
      return inOutgoing(`${environment}.Seed`, (request: SeedRequest) => {
        const before = asked.get(request.sessionId) ?? 0;
        asked.set(request.sessionId, before + 1);
        if (before > 0) request.sessionId = `${request.sessionId}x`;
      })(parts);
    },
  },
  {
    name: "lost-is-terminal",
    clause: "EPI-E6-001",
    what: "gives up for good where a part was lost",
    build: inOutcome(({ outcome }) => {
      if (outcome.case === "failure") outcome.value.retry = Retry.NEVER;
    }),
  },
  {
    name: "terminal-retried",
    clause: "EPI-E6-002",
    what: "says that another attempt may mend everything",
    build: inOutcome(({ outcome }) => {
      if (outcome.case === "failure") outcome.value.retry = Retry.NEW_ATTEMPT;
    }),
  },
  {
    name: "agent-failure-verified",
    clause: "EPI-E6-006",
    what: "verifies after the agent's failure, whatever was asked",
    build: inRequests<RunRequest>("run", (request) => {
      request.onAgentFailure = OnAgentFailure.VERIFY;
    }),
  },
  {
    name: "agent-failure-fails",
    clause: "EPI-AGF-001",
    what: "never verifies after the agent's failure",
    build: inRequests<RunRequest>("run", (request) => {
      request.onAgentFailure = OnAgentFailure.FAIL;
    }),
  },
  {
    name: "mask-forgotten",
    clause: "EPI-AGF-002",
    what: "does not mask the verdict on a failed agent's work",
    build: inOutcome(({ outcome }) => {
      if (outcome.case === "verdict") delete outcome.value.masked;
    }),
  },
  {
    name: "verifier-failure-is-zero",
    clause: "EPI-E6-007",
    what: "makes a reward of 0 of a failed verification",
    build: inOutcome((outcome) => {
      const { outcome: told } = outcome;
      if (told.case === "failure" && told.value.kind === FailureKind.VERIFIER_FAILED)
        outcome.outcome = { case: "verdict", value: zeroVerdict() };
    }),
  },
  {
    name: "nan-passed",
    clause: "EPI-OUT-010",
    what: "makes a reward of 0 of one that is none",
    build: inOutcome((outcome) => {
      const { outcome: told } = outcome;
      if (told.case === "failure" && told.value.kind === FailureKind.INVALID_REWARD)
        outcome.outcome = { case: "verdict", value: zeroVerdict() };
    }),
  },
  {
    name: "episode-unscored-is-zero",
    clause: "EPI-OUT-009",
    what: "makes a reward of 0 of a verdict without one",
    build: inOutcome(({ outcome }) => {
      if (outcome.case === "verdict")
        outcome.value.reward ??= { $typeName: "touchstone.v1.Reward", value: 0 };
    }),
  },
  {
    name: "attempts-unbounded",
    clause: "EPI-AGF-003",
    what: "verifies as often as it likes",
    build: inRequests<RunRequest>("run", (request) => {
      request.verifyAttempts = 5;
    }),
  },
  {
    name: "verified-once",
    clause: "EPI-E6-013",
    what: "never verifies again",
    build: inRequests<RunRequest>("run", (request) => {
      request.verifyAttempts = 1;
    }),
  },
  {
    name: "timeout-unnamed",
    clause: "EPI-E5-003",
    what: "does not tell in which phase time ran out",
    build: inOutcome(({ outcome }) => {
      if (outcome.case === "failure") outcome.value.stage = Stage.UNSPECIFIED;
    }),
  },
  {
    name: "episode-without-end",
    clause: "EPI-E5-001",
    what: "has no episode_timeout",
    build: inRequests<RunRequest>("run", ({ timeouts }) => {
      if (timeouts !== undefined) delete timeouts.episode;
    }),
  },
  {
    name: "stop-verifies",
    clause: "EPI-STOP-001",
    what: "finishes where it is to abandon",
    build: inRequests<StopRequest>("stop", (request) => {
      request.mode = StopMode.FINISH;
    }),
  },
  {
    name: "finish-abandons",
    clause: "EPI-STOP-003",
    what: "abandons where it is to finish",
    build: inRequests<StopRequest>("stop", (request) => {
      request.mode = StopMode.ABANDON;
    }),
  },
  {
    name: "stop-reason-lost",
    clause: "EPI-STOP-006",
    what: "forgets why it was stopped",
    build: inRequests<StopRequest>("stop", (request) => {
      request.reason = "";
    }),
  },
  {
    name: "second-stop-first",
    clause: "EPI-STOP-004",
    what: "says of a second Stop that it was the first",
    build: inAnswers<StopResponse>("stop", (answer) => {
      answer.alreadyStopped = false;
    }),
  },
  {
    name: "second-ack-first",
    clause: "EPI-ACK-002",
    what: "says of a second Ack that it was the first",
    build: inAnswers<AckResponse>("ack", (answer) => {
      answer.alreadyAcked = false;
    }),
  },
  {
    name: "acked-runs-again",
    clause: "EPI-ACK-001",
    what: "runs an episode again that was acknowledged",
    build: (parts) => {
      const acked = new Set<string>();
      return inRequests<AckRequest>(
        "ack",
        ({ episodeId }) => void acked.add(episodeId?.rolloutId ?? ""),
      )(
        inRequests<RunRequest>("run", ({ context }) => {
          const id = context?.episodeId;
          if (id !== undefined && acked.has(id.rolloutId)) id.attempt += 1;
        })(parts),
      );
    },
  },
  {
    name: "attach-from-the-start",
    clause: "EPI-ATT-001",
    what: "tells everything again to whoever comes back",
    build: inRequests<AttachRequest>("attach", (request) => {
      request.afterSequence = 0n;
    }),
  },
  {
    name: "items-always",
    clause: "EPI-EVT-003",
    what: "tells agents' items to everybody",
    build: inRequests<RunRequest>("run", (request) => {
      request.includeItems = true;
    }),
  },
  {
    name: "episode-stages-untold",
    clause: "EPI-EVT-001",
    what: "does not tell when it verifies",
    build: inEvents((event) =>
      event.event.case === "stage" && event.event.value.stage === Stage.VERIFY ? undefined : event,
    ),
  },
  {
    name: "participants-unknown",
    clause: "EPI-OUT-001",
    what: "does not tell who took part",
    build: inOutcome((outcome) => {
      outcome.participants = [];
    }),
  },
  {
    name: "failure-bare",
    clause: "EPI-OUT-002",
    what: "tells of a failure nothing that was known",
    build: inOutcome((outcome) => {
      if (outcome.outcome.case === "failure") delete outcome.submission;
    }),
  },
  {
    name: "usage-summed",
    clause: "EPI-OUT-003",
    what: "does not tell who used what",
    build: inOutcome((outcome) => {
      outcome.usage = [];
    }),
  },
  {
    name: "clean-ups-untold",
    clause: "EPI-OUT-006",
    what: "does not list its clean-ups",
    build: inOutcome((outcome) => {
      outcome.cleanUps = outcome.cleanUps.slice(0, 1);
    }),
  },
  {
    name: "trajectory-miscounted",
    clause: "EPI-OUT-007",
    what: "tells another number of records than there are",
    build: inOutcome(({ trajectory }) => {
      if (trajectory !== undefined) trajectory.records += 1n;
    }),
  },
  {
    name: "verifier-state-lost",
    clause: "EPI-OUT-008",
    what: "keeps nothing for a later scoring",
    build: inOutcome((outcome) => {
      outcome.verifierState = new Uint8Array();
    }),
  },
  {
    name: "usable-despite-loss",
    clause: "EPI-TRN-001",
    what: "calls tokens usable that were never read",
    build: inOutcome(({ training }) => {
      if (training !== undefined) Object.assign(training, { usable: true, reasons: [] });
    }),
  },
  {
    name: "defaults-untold",
    clause: "EPI-E5-004",
    what: "does not tell a default of its bounds",
    build: inAnswers<EpisodeServiceDescribeResponse>("describe", (answer) => {
      delete answer.defaultTimeouts?.verification;
    }),
  },
  {
    name: "activated-twice",
    clause: "EPI-DRV-006",
    what: "numbers its one activation from 1",
    build: inOutgoing(`${agent}.Activate`, (request: ActivateRequest) => {
      request.activationIndex += 1;
    }),
  },
  {
    name: "never-renewed",
    clause: "EPI-E9-001",
    what: "does not renew the environment's session",
    build: unasked(`${environment}.KeepAlive`),
  },
  {
    name: "agent-never-renewed",
    clause: "EPI-E9-002",
    what: "does not renew the agent's session",
    build: unasked(`${agent}.KeepAlive`),
  },
  {
    name: "orphans-live-on",
    clause: "EPI-E2-009",
    what: "waits two minutes for a reader, whatever was asked",
    build: inRequests<RunRequest>("run", (request) => {
      delete request.orphanGrace;
    }),
  },
  {
    name: "orphans-end-at-once",
    clause: "EPI-E2-008",
    what: "waits for no reader",
    build: inRequests<RunRequest>("run", ({ orphanGrace }) => {
      if (orphanGrace !== undefined) Object.assign(orphanGrace, { seconds: 0n, nanos: 0 });
    }),
  },
];

function zeroVerdict() {
  return create(VerdictSchema, { reward: { value: 0 } });
}
