import { Boundary, Stage, UsageRole } from "../../../gen/index.js";
import { verifiedAs } from "../../peers/scene-scripts.js";
import { requestsOf, rpcs } from "./asked.js";
import { type EpisodeEnd, episodeCheck } from "./episode-trial.js";

/** Stages as they were begun. */
const stagesOf = ({ events }: EpisodeEnd): Stage[] =>
  events.flatMap(({ event }) => (event.case === "stage" ? [event.value.stage] : []));

/** What is told of an episode while it runs and when it has ended. */
export const outcomeChecks = [
  episodeCheck(
    { clause: "EPI-EVT-001", name: "stages", title: "stages are told in their order." },
    async (t) => {
      const stages = stagesOf(await t.run(t.scene()));
      const order = [Stage.SEED, Stage.OPEN, Stage.ACTIVATE, Stage.VERIFY];
      t.judge.equal(
        "the stages",
        stages.filter((stage) => order.includes(stage)),
        order,
      );
    },
  ),
  episodeCheck(
    {
      clause: "EPI-EVT-003",
      name: "items",
      title: "agents' items are told exactly when they are asked for.",
    },
    async (t) => {
      const items = ({ events }: EpisodeEnd) => events.filter(({ event }) => event.case === "item").length;
      t.judge.equal("items, not asked for", items(await t.run(t.scene())), 0);
      const asked = items(await t.run(t.scene(), { includeItems: true }));
      t.judge.that("items, asked for", asked > 0, { expected: "one at least", actual: asked });
    },
  ),
  episodeCheck(
    {
      clause: "EPI-OUT-001",
      name: "identity",
      title: "the outcome names ids, the task's digest and who took part.",
    },
    async (t) => {
      const scene = t.scene();
      const { outcome } = await t.run(scene);
      t.judge.equal("the rollout", outcome?.context?.episodeId?.rolloutId, scene.rolloutId);
      t.judge.equal("the task", [outcome?.task?.taskId?.id, outcome?.task?.digest], ["q1", "sha256:1"]);
      const names = new Map(
        outcome?.participants.map(({ boundary, implementation }) => [boundary, implementation?.name]),
      );
      t.judge.equal(
        "who took part",
        [names.get(Boundary.ENVIRONMENT), names.get(Boundary.AGENT), names.get(Boundary.MODEL)],
        ["world", "loop", "model-server"],
      );
    },
  ),
  episodeCheck({ clause: "EPI-OUT-003", name: "usage", title: "usage is told per role." }, async (t) => {
    const { outcome } = await t.run(t.scene());
    const agent = outcome?.usage.find(({ role }) => role === UsageRole.AGENT);
    t.judge.equal("the agent's", agent?.usage?.inputTokens, 10n);
  }),
  episodeCheck(
    {
      clause: "EPI-OUT-006",
      name: "clean-ups",
      title: "clean_ups lists every resource and how its clean-up ended.",
    },
    async (t) => {
      const scene = t.scene();
      const { outcome } = await t.run(scene);
      const made = [
        requestsOf(scene, rpcs.seed)[0]?.sessionId,
        requestsOf(scene, rpcs.openGateway)[0]?.gatewayId,
        requestsOf(scene, rpcs.open)[0]?.sessionId,
      ];
      t.judge.equal(
        "the resources",
        outcome?.cleanUps.map(({ resource }) => String(resource?.id)).toSorted(),
        made.map(String).toSorted(),
      );
      t.judge.each("how they ended", outcome?.cleanUps ?? [], ({ released }) =>
        t.judge.equal("released", released, true),
      );
    },
  ),
  episodeCheck(
    {
      clause: "EPI-OUT-007",
      name: "trajectory",
      title: "the trajectory can be read: the items of the agent, and as many records as are told.",
    },
    async (t) => {
      const scene = t.scene();
      const { outcome } = await t.run(scene);
      const read = await t.calls.readTrajectory({ episodeId: { rolloutId: scene.rolloutId } }).finish();
      const records = t.judge.stream("ReadTrajectory", read).filter(({ sequence }) => sequence > 0n);
      t.judge.equal("records", BigInt(records.length), outcome?.trajectory?.records);
      const items = records.filter(({ record }) => record.case === "item").length;
      t.judge.that("items", items > 0, { expected: "one at least", actual: items });
    },
  ),
  episodeCheck(
    {
      clause: "EPI-TRAJ-001",
      name: "after-failure",
      title: "the trajectory is there after a failure too.",
    },
    async (t) => {
      const scene = t.scene();
      scene.scripts.environment.verify = () => {
        throw new Error("no verdict");
      };
      const { outcome } = await t.run(scene);
      const read = await t.calls.readTrajectory({ episodeId: { rolloutId: scene.rolloutId } }).finish();
      const records = t.judge.stream("ReadTrajectory", read).filter(({ sequence }) => sequence > 0n);
      t.judge.equal("records", BigInt(records.length), outcome?.trajectory?.records);
      t.judge.that("records", records.length > 0, { expected: "one at least", actual: records.length });
    },
  ),
  episodeCheck(
    {
      clause: "EPI-OUT-008",
      name: "later-scoring",
      title: "verifier_state and submission are kept for a later scoring.",
    },
    async (t) => {
      const { outcome } = await t.run(t.scene());
      t.judge.equal("verifier_state", Buffer.from(outcome?.verifierState ?? []).toString(), "sealed");
      t.judge.equal(
        "submission",
        outcome?.submission?.agents.map(({ agentId, items }) => [agentId, items.length]),
        [["agent", 1]],
      );
    },
  ),
  episodeCheck(
    {
      clause: "EPI-OUT-009",
      name: "unscored",
      title: "a verdict without reward stays without one.",
    },
    async (t) => {
      const scene = t.scene();
      scene.scripts.environment.verify = () =>
        verifiedAs({
          case: "verdict",
          value: { masked: { reason: "flaky" }, provenance: { implementation: "world" } },
        });
      const { verdict } = await t.run(scene);
      t.judge.equal("masked", verdict?.masked?.reason, "flaky");
      t.judge.equal("the reward", verdict?.reward, undefined);
    },
  ),
  episodeCheck(
    {
      clause: "EPI-TRN-001",
      name: "no-capture",
      title: "training is not usable, with reasons, where the capture could not be read.",
    },
    async (t) => {
      const scene = t.scene();
      scene.scripts.model.readCapture = async function* () {
        yield* [];
        throw new Error("the capture is broken");
      };
      const { outcome } = await t.run(scene);
      t.judge.equal("training.usable", outcome?.training?.usable, false);
      t.judge.that("training.reasons", (outcome?.training?.reasons.length ?? 0) > 0, {
        expected: "a reason",
        actual: "none",
      });
    },
  ),
  episodeCheck(
    {
      clause: "EPI-TRN-003",
      name: "reward-stays",
      title: "unusable tokens do not touch the reward.",
    },
    async (t) => {
      const scene = t.scene();
      scene.scripts.model.readCapture = async function* () {
        yield* [];
        throw new Error("the capture is broken");
      };
      const { verdict } = await t.run(scene);
      t.judge.equal("the reward", verdict?.reward?.value, 0.5);
    },
  ),
];
