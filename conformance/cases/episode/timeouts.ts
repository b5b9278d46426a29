import { create } from "@bufbuild/protobuf";
import { FailureKind, LeaseSchema, Stage, StopReason } from "../../../gen/index.js";
import type { Scene } from "../../peers/cast.js";
import {
  answeredTurn,
  answerItem,
  endlessTurn,
  endlessVerify,
  turnOf,
  untilLeft,
  verdictOf,
  verifiedAs,
} from "../../peers/scene-scripts.js";
import { requestsOf, rpcs } from "./asked.js";
import { episodeCheck, seconds, shortTimeouts } from "./episode-trial.js";

/** Each phase with a bound of its own, and how a part lets it pass. */
const phases: readonly {
  readonly bound: "seed" | "open" | "activation" | "verification";
  readonly stage: Stage;
  hang(scene: Scene): void;
}[] = [
  {
    bound: "seed",
    stage: Stage.SEED,
    hang: ({ scripts }) => {
      scripts.environment.seed = async (_request, call) => await untilLeft(call);
    },
  },
  {
    bound: "open",
    stage: Stage.OPEN,
    hang: ({ scripts }) => {
      scripts.agent.open = async (_request, call) => await untilLeft(call);
    },
  },
  {
    bound: "activation",
    stage: Stage.ACTIVATE,
    hang: ({ scripts }) => {
      scripts.agent.activate = (_request, call) => endlessTurn(call);
    },
  },
  {
    bound: "verification",
    stage: Stage.VERIFY,
    hang: ({ scripts }) => {
      scripts.environment.verify = (_request, call) => endlessVerify(call);
    },
  },
];

/** E5: every phase ends. */
export const timeoutChecks = [
  ...phases.map(({ bound, stage, hang }) =>
    episodeCheck(
      {
        clause: "EPI-E5-003",
        name: bound,
        title: `a part that hangs in ${bound} ends it at its own bound; the failure names the phase.`,
        within: 30,
      },
      async (t) => {
        const scene = t.scene();
        hang(scene);
        const { failure } = await t.run(scene, { timeouts: { ...shortTimeouts, [bound]: seconds(0.5) } });
        t.judge.equal("its kind", failure?.kind, FailureKind.TIMEOUT);
        t.judge.equal("its stage", failure?.stage, stage);
      },
    ),
  ),
  episodeCheck(
    {
      clause: "EPI-E5-001",
      name: "episode",
      title: "episode_timeout ends a turn that would go on: TIMEOUT, nothing verified, all closed.",
      within: 20,
    },
    async (t) => {
      const scene = t.scene();
      scene.scripts.agent.activate = (_request, call) => endlessTurn(call);
      const { failure, outcome } = await t.within(
        "the outcome",
        10,
        t.run(scene, {
          timeouts: { ...shortTimeouts, activation: seconds(30), episode: seconds(1) },
        }),
      );
      t.judge.equal("its kind", failure?.kind, FailureKind.TIMEOUT);
      t.judge.equal("Verify was asked", requestsOf(scene, rpcs.verify).length, 0);
      t.judge.equal(
        "all is released",
        outcome?.cleanUps.every(({ released }) => released),
        true,
      );
    },
  ),
  episodeCheck(
    {
      clause: "EPI-E5-002",
      name: "budget",
      title: "an agent that has spent its budget has done what it could: that is verified.",
    },
    async (t) => {
      const scene = t.scene();
      scene.scripts.agent.activate = () =>
        turnOf(
          { case: "item", value: answerItem },
          {
            case: "completed",
            value: { answerId: "t", stopReason: StopReason.MAX_TURNS, output: [answerItem] },
          },
        );
      const { verdict, outcome } = await t.run(scene);
      t.judge.equal("the reward", verdict?.reward?.value, 0.5);
      t.judge.equal("agent_ends", outcome?.agentEnds[0]?.stopReason, StopReason.MAX_TURNS);
    },
  ),
  episodeCheck(
    {
      clause: "EPI-E5-004",
      name: "defaults",
      title: "Describe tells a default for every bound.",
    },
    async (t) => {
      const { defaultTimeouts } = t.described;
      const bounds = ["queue", "episode", "seed", "open", "activation", "verification", "cleanUp"] as const;
      t.judge.each("the bounds", bounds, (bound) =>
        t.judge.that(`default_timeouts.${bound}`, defaultTimeouts?.[bound] !== undefined, {
          expected: "a duration",
          actual: "nothing",
        }),
      );
    },
  ),
  episodeCheck(
    {
      clause: "EPI-E5-005",
      name: "not-verify",
      title: "a verification that goes on beyond episode_timeout is waited for.",
      within: 20,
    },
    async (t) => {
      const scene = t.scene();
      scene.scripts.environment.verify = async function* () {
        await t.pause(1_500);
        yield* verifiedAs({ case: "verdict", value: verdictOf(0.5) });
      };
      const { verdict } = await t.run(scene, {
        timeouts: { ...shortTimeouts, episode: seconds(1), verification: seconds(5) },
      });
      t.judge.equal("the reward", verdict?.reward?.value, 0.5);
    },
  ),
  episodeCheck(
    {
      clause: "EPI-E2-007",
      name: "not-clean-up",
      title: "clean-ups that take longer than what is left of episode_timeout are done.",
      within: 20,
    },
    async (t) => {
      const scene = t.scene();
      const { close } = scene.scripts.environment;
      scene.scripts.environment.close = async (request, call) => {
        await t.pause(1_300);
        return (await close?.(request, call)) ?? {};
      };
      const { verdict, outcome } = await t.run(scene, {
        timeouts: { ...shortTimeouts, episode: seconds(1), cleanUp: seconds(5) },
      });
      t.judge.equal("the reward", verdict?.reward?.value, 0.5);
      t.judge.equal(
        "all is released",
        outcome?.cleanUps.every(({ released }) => released),
        true,
      );
    },
  ),
  ...(["environment", "agent", "model"] as const).map((part) =>
    episodeCheck(
      {
        clause: part === "environment" ? "EPI-E9-001" : "EPI-E9-002",
        name: part === "environment" ? "renewed" : `renewed-${part}`,
        title: `${part}'s session is renewed at a third of the lease that it told, as long as it is needed.`,
        lane: "waiting",
        within: 20,
      },
      async (t) => {
        const scene = t.scene();
        const lease = create(LeaseSchema, { duration: { seconds: 3n, nanos: 0 } });
        const { seed } = scene.scripts.environment;
        const { open } = scene.scripts.agent;
        const { openGateway } = scene.scripts.model;
        scene.scripts.environment.seed = async (request, call) => {
          const answer = (await seed?.(request, call)) ?? {};
          return { ...answer, session: { ...answer.session, lease } } as typeof answer;
        };
        scene.scripts.agent.open = async (request, call) => ({ ...(await open?.(request, call)), lease });
        scene.scripts.model.openGateway = async (request, call) => ({
          ...(await openGateway?.(request, call)),
          lease,
        });
        const renewed = { environment: 0, agent: 0, model: 0 };
        scene.scripts.environment.keepAlive = async () => {
          renewed.environment += 1;
          return { lease };
        };
        scene.scripts.agent.keepAlive = async () => {
          renewed.agent += 1;
          return { lease };
        };
        scene.scripts.model.keepAlive = async () => {
          renewed.model += 1;
          return { lease };
        };
        scene.scripts.agent.activate = async function* () {
          await t.pause(3_500);
          yield* answeredTurn();
        };
        const { verdict } = await t.run(scene, { timeouts: { ...shortTimeouts, activation: seconds(10) } });
        t.judge.equal("the reward", verdict?.reward?.value, 0.5);
        t.judge.that("KeepAlives in 3.5 s", renewed[part] >= 2 && renewed[part] <= 6, {
          expected: "about one a second: the lease told, 3 s, counts",
          actual: renewed[part],
        });
      },
    ),
  ),
];
