import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { ErrorInfoSchema, RetryInfoSchema } from "../../../gen/google/rpc/error_details_pb.js";
import {
  Delivery,
  type Failure,
  FailureKind,
  FailureSchema,
  OnAgentFailure,
  Retry,
  Stage,
} from "../../../gen/index.js";
import type { Part, Scene } from "../../peers/cast.js";
import {
  answeredTurn,
  bareStatus,
  refusal,
  turnOf,
  verdictOf,
  verifiedAs,
} from "../../peers/scene-scripts.js";
import { requestsOf, rpcs } from "./asked.js";
import { episodeCheck, seconds, shortTimeouts } from "./episode-trial.js";

/** Lets an rpc of a part throw: always, or so many times before it does what it did. */
function throws(
  scene: Scene,
  [part, rpc]: readonly [Part, string],
  error: () => unknown,
  times = Infinity,
): void {
  const scripts = scene.scripts[part] as Record<string, ((...of: never[]) => unknown) | undefined>;
  const own = scripts[rpc];
  let left = times;
  scripts[rpc] = (...of: never[]) => {
    left -= 1;
    if (left >= 0) throw error();
    return own?.(...of);
  };
}

/** A refusal that says when to come again. */
const later = (retrySeconds: number): ConnectError =>
  new ConnectError("all places are taken", Code.ResourceExhausted, undefined, [
    { desc: ErrorInfoSchema, value: create(ErrorInfoSchema, { reason: "CAPACITY", domain: "touchstone" }) },
    {
      desc: RetryInfoSchema,
      value: create(RetryInfoSchema, {
        retryDelay: { seconds: BigInt(Math.floor(retrySeconds)), nanos: (retrySeconds % 1) * 1e9 },
      }),
    },
  ]);

/** The calls that make an episode, and where each stands. */
const stages: readonly (readonly [part: Part, rpc: string, stage: Stage])[] = [
  ["environment", "seed", Stage.SEED],
  ["model", "openGateway", Stage.OPEN_GATEWAY],
  ["agent", "open", Stage.OPEN],
  ["agent", "activate", Stage.ACTIVATE],
  ["environment", "verify", Stage.VERIFY],
];

const kebab = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

const agentFails = (failure: Partial<Pick<Failure, "kind" | "retry">> = {}) =>
  turnOf({
    case: "failed",
    value: {
      answerId: "t",
      failure: create(FailureSchema, {
        kind: FailureKind.HARNESS_CRASHED,
        retry: Retry.NEVER,
        stage: Stage.ACTIVATE,
        reason: "the harness gave up",
        ...failure,
      }),
    },
  });

/** E6: what is repeated, what ends the episode, and what of both is told. */
export const failureChecks = [
  ...stages.map(([part, rpc, stage]) =>
    episodeCheck(
      {
        clause: "EPI-E6-001",
        name: `${part}-${kebab(rpc)}`,
        title: `${part}'s ${rpc} is lost for good: another attempt may help; cause and delivery are told.`,
        within: 20,
      },
      async (t) => {
        const scene = t.scene();
        throws(scene, [part, rpc], () => bareStatus(Code.Unavailable));
        const { failure, verdict } = await t.run(scene);
        t.judge.equal("the verdict", verdict, undefined);
        t.judge.equal("its retry", failure?.retry, Retry.NEW_ATTEMPT);
        t.judge.equal("its stage", failure?.stage, stage);
        const [cause] = failure?.causes ?? [];
        t.judge.equal("its delivery", cause?.delivery, Delivery.POSSIBLY_DELIVERED);
      },
    ),
  ),
  ...stages.map(([part, rpc]) =>
    episodeCheck(
      {
        clause: "EPI-E6-003",
        name: `${part}-${kebab(rpc)}`,
        title: `${part}'s ${rpc} may have arrived: it is asked again under its own name, with the same content.`,
        within: 20,
      },
      async (t) => {
        const scene = t.scene();
        throws(scene, [part, rpc], () => bareStatus(Code.Unavailable), 1);
        const { verdict } = await t.run(scene);
        const called = rpc.replace(/^./, (letter) => letter.toUpperCase());
        const asked = scene.calls.filter((call) => call.peer === part && call.rpc === called);
        t.judge.equal("how often it was asked", asked.length, 2);
        t.judge.equal("the second request", asked[1]?.request, asked[0]?.request);
        t.judge.equal("the reward", verdict?.reward?.value, 0.5);
      },
    ),
  ),
  episodeCheck(
    {
      clause: "EPI-E6-005",
      name: "unknown-end",
      title: "a call that ended without our ErrorInfo is asked again to learn what became of it.",
    },
    async (t) => {
      const scene = t.scene();
      throws(scene, ["environment", "seed"], () => bareStatus(Code.Unavailable), 1);
      await t.run(scene);
      const ids = requestsOf(scene, rpcs.seed).map(({ sessionId }) => sessionId);
      t.judge.equal("Seeds", ids.length, 2);
      t.judge.equal("their names", new Set(ids).size, 1);
    },
  ),
  ...([Code.InvalidArgument, Code.PermissionDenied, Code.Unimplemented] as const).map((code) =>
    episodeCheck(
      {
        clause: "EPI-E6-002",
        name: kebab(Code[code]).replace(/^-/, ""),
        title: `Seed ends ${Code[code]}: nothing that another attempt would mend.`,
      },
      async (t) => {
        const scene = t.scene();
        throws(scene, ["environment", "seed"], () => new ConnectError("no", code));
        const { failure } = await t.run(scene);
        t.judge.equal("its retry", failure?.retry, Retry.NEVER);
      },
    ),
  ),
  episodeCheck(
    {
      clause: "EPI-E6-004",
      name: "in-place",
      title: "a refusal with RetryInfo is repeated in place, not before the time it names.",
    },
    async (t) => {
      const scene = t.scene();
      const times: number[] = [];
      throws(
        scene,
        ["environment", "seed"],
        () => {
          times.push(Date.now());
          return later(0.3);
        },
        1,
      );
      const { seed } = scene.scripts.environment;
      scene.scripts.environment.seed = (request, call) => {
        if (times.length > 0) times.push(Date.now());
        return seed?.(request, call) ?? {};
      };
      const { verdict } = await t.run(scene);
      t.judge.equal("the reward", verdict?.reward?.value, 0.5);
      const waited = (times.at(-1) ?? 0) - (times[0] ?? 0);
      t.judge.that("the wait", waited >= 290, { expected: "300 ms at least", actual: `${waited} ms` });
    },
  ),
  episodeCheck(
    {
      clause: "EPI-E6-008",
      name: "too-late",
      title: "refused with a RetryInfo beyond the phase's bound: another attempt may help.",
    },
    async (t) => {
      const scene = t.scene();
      throws(scene, ["environment", "seed"], () => later(600));
      const { failure } = await t.run(scene);
      t.judge.equal("its retry", failure?.retry, Retry.NEW_ATTEMPT);
    },
  ),
  ...(["SESSION_UNKNOWN", "SESSION_EXPIRED"] as const).map((reason) =>
    episodeCheck(
      {
        clause: reason === "SESSION_UNKNOWN" ? "EPI-E6-009" : "EPI-E6-010",
        name: "verify",
        title: `Verify is refused ${reason}: the session is lost, another attempt may help.`,
      },
      async (t) => {
        const scene = t.scene();
        const code = reason === "SESSION_UNKNOWN" ? Code.NotFound : Code.FailedPrecondition;
        throws(scene, ["environment", "verify"], () => refusal(code, reason, "no such session"));
        const { failure } = await t.run(scene);
        t.judge.equal("its kind", failure?.kind, FailureKind.SESSION_LOST);
        t.judge.equal("its retry", failure?.retry, Retry.NEW_ATTEMPT);
      },
    ),
  ),
  episodeCheck(
    {
      clause: "EPI-E6-011",
      name: "another-instance",
      title: "an environment that answers as another instance has lost the session.",
    },
    async (t) => {
      const scene = t.scene();
      const { seed, verify } = scene.scripts.environment;
      scene.scripts.environment.seed = (request, call) => {
        call.responseHeader.set("touchstone-instance", "e-1");
        return seed?.(request, call) ?? {};
      };
      scene.scripts.environment.verify = (request, call) => {
        call.responseHeader.set("touchstone-instance", "e-2");
        return verify?.(request, call) ?? verifiedAs({ case: "verdict", value: verdictOf(1) });
      };
      const { failure } = await t.run(scene);
      t.judge.equal("its kind", failure?.kind, FailureKind.SESSION_LOST);
      t.judge.equal("its retry", failure?.retry, Retry.NEW_ATTEMPT);
    },
  ),
  episodeCheck(
    {
      clause: "EPI-E6-006",
      name: "agent-fails",
      title: "on_agent_failure FAIL: the agent's failure is the episode's, and nothing is verified.",
    },
    async (t) => {
      const scene = t.scene();
      scene.scripts.agent.activate = () => agentFails();
      const { failure, verdict } = await t.run(scene, { onAgentFailure: OnAgentFailure.FAIL });
      t.judge.equal("the verdict", verdict, undefined);
      t.judge.equal("its kind", failure?.kind, FailureKind.HARNESS_CRASHED);
      t.judge.equal("Verify was asked", requestsOf(scene, rpcs.verify).length, 0);
    },
  ),
  episodeCheck(
    {
      clause: "EPI-AGF-001",
      name: "verify",
      title: "on_agent_failure VERIFY: the work is verified, the failure stands in agent_ends.",
    },
    async (t) => {
      const scene = t.scene();
      scene.scripts.agent.activate = () => agentFails();
      const { verdict, outcome } = await t.run(scene, { onAgentFailure: OnAgentFailure.VERIFY });
      t.judge.equal("the reward", verdict?.reward?.value, 0.5);
      t.judge.equal("agent_ends", outcome?.agentEnds[0]?.failure?.kind, FailureKind.HARNESS_CRASHED);
    },
  ),
  episodeCheck(
    { clause: "EPI-AGF-002", name: "masked", title: "VERIFY_MASKED: the verdict is masked, with a reason." },
    async (t) => {
      const scene = t.scene();
      scene.scripts.agent.activate = () => agentFails();
      const { verdict } = await t.run(scene, { onAgentFailure: OnAgentFailure.VERIFY_MASKED });
      t.judge.that("masked", (verdict?.masked?.reason ?? "") !== "", {
        expected: "a reason",
        actual: verdict === undefined ? "no verdict" : "no mask",
      });
    },
  ),
  episodeCheck(
    {
      clause: "EPI-E6-007",
      name: "verifier-fails",
      title: "a verification that fails is the episode's failure, without any reward.",
    },
    async (t) => {
      const scene = t.scene();
      const broken = create(FailureSchema, {
        kind: FailureKind.VERIFIER_FAILED,
        retry: Retry.NEVER,
        stage: Stage.VERIFY,
        reason: "the tests did not start",
      });
      scene.scripts.environment.verify = () => verifiedAs({ case: "failure", value: broken });
      const { failure, verdict } = await t.run(scene);
      t.judge.equal("the verdict", verdict, undefined);
      t.judge.equal("its kind", failure?.kind, FailureKind.VERIFIER_FAILED);
      t.judge.equal("its reason", failure?.reason.includes("the tests did not start"), true);
    },
  ),
  ...[
    { name: "repeated", attempts: 2, index: [0, 1], reward: 0.5 },
    { name: "bounded", attempts: 1, index: [0], reward: undefined },
  ].map(({ name, attempts, index, reward }) =>
    episodeCheck(
      {
        clause: name === "repeated" ? "EPI-E6-013" : "EPI-AGF-003",
        name,
        title: `a verification that fails with NEXT_INDEX is asked ${attempts} times at most, each under the next index.`,
      },
      async (t) => {
        const scene = t.scene();
        const again = create(FailureSchema, {
          kind: FailureKind.VERIFIER_FAILED,
          retry: Retry.NEXT_INDEX,
          stage: Stage.VERIFY,
          reason: "the judge was busy",
        });
        let asked = 0;
        scene.scripts.environment.verify = () => {
          asked += 1;
          return asked === 1
            ? verifiedAs({ case: "failure", value: again })
            : verifiedAs({ case: "verdict", value: verdictOf(0.5) });
        };
        const { verdict } = await t.run(scene, { verifyAttempts: attempts });
        t.judge.equal("the reward", verdict?.reward?.value, reward);
        const indexes = requestsOf(scene, rpcs.verify).map(({ target }) =>
          target.case === "session" ? target.value.verificationIndex : undefined,
        );
        t.judge.equal("the indexes", indexes, index);
      },
    ),
  ),
  episodeCheck(
    {
      clause: "EPI-E6-014",
      name: "passed-on",
      title: "NEW_ATTEMPT of a part is passed on; no attempt is started here.",
    },
    async (t) => {
      const scene = t.scene();
      scene.scripts.agent.activate = () =>
        agentFails({ kind: FailureKind.MODEL_UNAVAILABLE, retry: Retry.NEW_ATTEMPT });
      const { failure } = await t.run(scene);
      t.judge.equal("its retry", failure?.retry, Retry.NEW_ATTEMPT);
      t.judge.equal("Seeds", requestsOf(scene, rpcs.seed).length, 1);
      t.judge.equal("activations", requestsOf(scene, rpcs.activate).length, 1);
    },
  ),
  episodeCheck(
    {
      clause: "EPI-E6-015",
      name: "unsatisfied",
      title: "UNSATISFIED_REQUIREMENT of Seed ends the episode for good, and is told by its name.",
    },
    async (t) => {
      const scene = t.scene();
      throws(scene, ["environment", "seed"], () =>
        refusal(Code.FailedPrecondition, "UNSATISFIED_REQUIREMENT", "the task needs a browser"),
      );
      const { failure } = await t.run(scene);
      t.judge.equal("its retry", failure?.retry, Retry.NEVER);
      const told = JSON.stringify(failure, (_key, value: unknown) =>
        typeof value === "bigint" ? Number(value) : value,
      );
      t.judge.that("its name", told.includes("UNSATISFIED_REQUIREMENT"), {
        expected: "UNSATISFIED_REQUIREMENT",
        actual: failure?.reason,
      });
    },
  ),
  ...[Number.NaN, Number.POSITIVE_INFINITY, 7].map((value) =>
    episodeCheck(
      {
        clause: "EPI-OUT-010",
        name: Number.isNaN(value) ? "nan" : Number.isFinite(value) ? "out-of-range" : "infinite",
        title: `a reward of ${value} from the environment is failure INVALID_REWARD.`,
      },
      async (t) => {
        const scene = t.scene();
        scene.scripts.environment.verify = () =>
          verifiedAs({ case: "verdict", value: { ...verdictOf(0), reward: { value } } });
        const { failure, verdict } = await t.run(scene);
        t.judge.equal("the verdict", verdict, undefined);
        t.judge.equal("its kind", failure?.kind, FailureKind.INVALID_REWARD);
      },
    ),
  ),
  episodeCheck(
    {
      clause: "EPI-E6-012",
      name: "unreleased",
      title: "what an earlier attempt left is closed before anything is made.",
    },
    async (t) => {
      const scene = t.scene();
      const { bindings } = t.fixture;
      await t.run(scene, {
        timeouts: { ...shortTimeouts, cleanUp: seconds(2) },
        unreleased: [
          {
            kind: 1,
            binding: bindings.environment,
            id: `${scene.rolloutId}-left`,
            episodeId: { rolloutId: scene.rolloutId },
          },
        ],
      });
      const order = scene.calls
        .filter(({ rpc }) => rpc === "Close" || rpc === "Seed")
        .map(({ rpc, request }) => `${rpc} ${(request as { sessionId: string }).sessionId}`);
      t.judge.equal("the first of all", order[0], `Close ${scene.rolloutId}-left`);
    },
  ),
  episodeCheck(
    {
      clause: "EPI-OUT-002",
      name: "what-was-known",
      title: "a failure's outcome carries everything that was known when it happened.",
    },
    async (t) => {
      const scene = t.scene();
      throws(scene, ["environment", "verify"], () => bareStatus(Code.PermissionDenied, "no"));
      scene.scripts.agent.activate = () => answeredTurn();
      const { failure, outcome } = await t.run(scene);
      t.judge.that("the failure", failure !== undefined, { expected: "one", actual: "none" });
      t.judge.equal("the task's digest", outcome?.task?.digest, "sha256:1");
      t.judge.equal(
        "agent_ends",
        outcome?.agentEnds.map(({ agentId }) => agentId),
        ["agent"],
      );
      t.judge.equal(
        "the agent's work",
        outcome?.submission?.agents.map(({ items }) => items.length),
        [1],
      );
      t.judge.equal("clean-ups", outcome?.cleanUps.length, 3);
    },
  ),
];
