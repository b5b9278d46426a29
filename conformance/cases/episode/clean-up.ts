import { Code } from "@connectrpc/connect";
import { ResourceKind, StopMode } from "../../../gen/index.js";
import type { Scene } from "../../peers/cast.js";
import { bareStatus, endlessTurn, untilLeft, verdictOf, verifiedAs } from "../../peers/scene-scripts.js";
import { orderOf, requestsOf, rpcs } from "./asked.js";
import { type EpisodeEnd, type EpisodeTrial, episodeCheck, seconds, shortTimeouts } from "./episode-trial.js";

const closes = ["agent.Close", "model.CloseGateway", "environment.Close"];

/** The last Close of each part, in the order in which they came. */
function closesOf(scene: Scene): string[] {
  return [...new Set(orderOf(scene).filter((call) => closes.includes(call)))];
}

/** What an episode made, by the intents that it told. */
function intentsOf({ events }: EpisodeEnd) {
  return events.flatMap(({ event }) => (event.case === "resourceIntent" ? [event.value] : []));
}

const stopped = (t: EpisodeTrial, scene: Scene, mode: StopMode) =>
  t.elsewhere().stop({ episodeId: { rolloutId: scene.rolloutId }, mode, reason: "enough" });

/** Ways in which an episode can end; after each of them all that it made is closed, the last first. */
const ways: Readonly<Record<string, (t: EpisodeTrial, scene: Scene) => Promise<EpisodeEnd>>> = {
  success: (t, scene) => t.run(scene),
  failure(t, scene) {
    scene.scripts.agent.activate = () => {
      throw new Error("the agent broke");
    };
    return t.run(scene);
  },
  timeout(t, scene) {
    scene.scripts.agent.activate = (_request, call) => endlessTurn(call);
    return t.run(scene, { timeouts: { ...shortTimeouts, activation: seconds(0.3) } });
  },
  async stop(t, scene) {
    scene.scripts.agent.activate = (_request, call) => endlessTurn(call);
    const running = t.begin(scene, { timeouts: { ...shortTimeouts, activation: seconds(30) } });
    await scene.asked("agent", "Activate");
    await stopped(t, scene, StopMode.ABANDON);
    return await running.end;
  },
};

/** E1 to E3: whatever was made is closed, in reverse, whatever happens. */
export const cleanUpChecks = [
  ...Object.entries(ways).map(([how, end]) =>
    episodeCheck(
      {
        clause: "EPI-E2-002",
        name: how,
        title: `after ${how} agent session, gateway and environment session are closed.`,
      },
      async (t) => {
        const scene = t.scene();
        await end(t, scene);
        t.judge.equal("what was closed", closesOf(scene).toSorted(), closes.toSorted());
      },
    ),
  ),
  episodeCheck(
    {
      clause: "EPI-E2-002",
      name: "sigterm",
      title: "after SIGTERM of the server agent session, gateway and environment session are closed.",
      lane: "process",
      within: 40,
    },
    async (t) => {
      const scene = t.scene();
      scene.scripts.agent.activate = (_request, call) => endlessTurn(call);
      t.begin(scene, { timeouts: { ...shortTimeouts, activation: seconds(600) } });
      await scene.asked("agent", "Activate");
      const own = t.process();
      own.signal("SIGTERM");
      await t.within("environment.Close", 30, scene.asked("environment", "Close"));
      t.judge.equal("what was closed", closesOf(scene), closes);
      await own.gone;
    },
  ),
  episodeCheck(
    {
      clause: "EPI-E2-001",
      name: "reverse",
      title: "what was made last is closed first, after a failure too.",
    },
    async (t) => {
      const scene = t.scene();
      await ways["failure"]?.(t, scene);
      t.judge.equal("the closes", closesOf(scene), closes);
    },
  ),
  episodeCheck(
    {
      clause: "EPI-E1-001",
      name: "lost-reply",
      title: "an agent session whose Open was never answered is closed.",
      within: 20,
    },
    async (t) => {
      const scene = t.scene();
      scene.scripts.agent.open = () => {
        throw bareStatus(Code.Unavailable);
      };
      await t.run(scene);
      const [open] = requestsOf(scene, rpcs.open);
      const closed = requestsOf(scene, rpcs.closeAgent).map(({ sessionId }) => sessionId);
      t.judge.that("agent.Close", closed.includes(open?.sessionId ?? ""), {
        expected: `of ${open?.sessionId}`,
        actual: closed.join(", ") || "never",
      });
    },
  ),
  episodeCheck(
    {
      clause: "EPI-E1-002",
      name: "never-came-to-be",
      title: "an environment session whose Seed only failed is closed under the caller's id.",
      within: 20,
    },
    async (t) => {
      const scene = t.scene();
      scene.scripts.environment.seed = () => {
        throw bareStatus(Code.Unavailable);
      };
      await t.run(scene);
      const ids = requestsOf(scene, rpcs.seed).map(({ sessionId }) => sessionId);
      const closed = requestsOf(scene, rpcs.closeEnvironment).map(({ sessionId }) => sessionId);
      t.judge.equal("one name for all tries", new Set(ids).size, 1);
      t.judge.that("environment.Close", closed.includes(ids[0] ?? ""), {
        expected: `of ${ids[0]}`,
        actual: closed.join(", ") || "never",
      });
    },
  ),
  episodeCheck(
    {
      clause: "EPI-E1-003",
      name: "before",
      title: "each intent is told before the call that it is of.",
    },
    async (t) => {
      const scene = t.scene();
      const told: string[] = [];
      const seen = new Map<string, readonly string[]>();
      const { seed } = scene.scripts.environment;
      const { open } = scene.scripts.agent;
      // What the reader had been told when the call came: the call waits for that.
      scene.scripts.environment.seed = async (request, call) => {
        await t.pause(100);
        seen.set(request.sessionId ?? "", [...told]);
        return (await seed?.(request, call)) ?? {};
      };
      scene.scripts.agent.open = async (request, call) => {
        await t.pause(100);
        seen.set(request.sessionId ?? "", [...told]);
        return (await open?.(request, call)) ?? {};
      };
      const feed = t.calls.run(t.request(scene));
      for (let message = await feed.next(); message !== undefined; message = await feed.next()) {
        const event = message.event?.event;
        if (event?.case === "resourceIntent") told.push(event.value.id);
      }
      t.judge.each("the calls", seen, ([id, before]) =>
        t.judge.that(`the intent of ${id}`, before.includes(id), {
          expected: "told before the call",
          actual: `told then: ${before.join(", ") || "nothing"}`,
        }),
      );
    },
  ),
  episodeCheck(
    {
      clause: "EPI-E1-004",
      name: "enough",
      title: "an intent says of what kind it is, where, and by which id it is closed.",
    },
    async (t) => {
      const scene = t.scene();
      const end = await t.run(scene);
      const intents = intentsOf(end);
      const kinds = intents.map(({ kind }) => kind).toSorted();
      t.judge.equal(
        "the kinds",
        kinds,
        [ResourceKind.ENVIRONMENT_SESSION, ResourceKind.GATEWAY, ResourceKind.AGENT_SESSION].toSorted(),
      );
      const made = [
        requestsOf(scene, rpcs.seed)[0]?.sessionId,
        requestsOf(scene, rpcs.openGateway)[0]?.gatewayId,
        requestsOf(scene, rpcs.open)[0]?.sessionId,
      ];
      t.judge.equal("the ids", intents.map(({ id }) => id).toSorted(), made.map(String).toSorted());
      t.judge.each("the intents", intents, ({ binding, episodeId }) => {
        t.judge.differ("binding", binding, "");
        t.judge.equal("episode_id", episodeId?.rolloutId, scene.rolloutId);
      });
    },
  ),
  episodeCheck(
    { clause: "EPI-E1-005", name: "released", title: "resource_released follows each release." },
    async (t) => {
      const end = await t.run(t.scene());
      const released = end.events.flatMap(({ event }) =>
        event.case === "resourceReleased" ? [event.value.id] : [],
      );
      const ids = intentsOf(end).map(({ id }) => id);
      t.judge.equal("what was released", released.toSorted(), ids.toSorted());
    },
  ),
  episodeCheck(
    {
      clause: "EPI-E1-006",
      name: "left",
      title: "what could not be closed is in clean_ups as not released.",
      within: 30,
    },
    async (t) => {
      const scene = t.scene();
      scene.scripts.agent.close = () => {
        throw bareStatus(Code.Unavailable);
      };
      const end = await t.run(scene);
      const left = end.outcome?.cleanUps
        .filter(({ released }) => !released)
        .map(({ resource }) => resource?.kind);
      t.judge.equal("not released", left, [ResourceKind.AGENT_SESSION]);
      const listed = end.outcome?.cleanUps.map(({ resource }) => resource?.id ?? "").toSorted();
      t.judge.equal(
        "all intents",
        listed,
        intentsOf(end)
          .map(({ id }) => id)
          .toSorted(),
      );
    },
  ),
  episodeCheck(
    {
      clause: "EPI-E2-003",
      name: "hangs",
      title: "a Close that hangs does not keep the next ones.",
      within: 20,
    },
    async (t) => {
      const scene = t.scene();
      scene.scripts.agent.close = async (_request, call) => await untilLeft(call);
      await t.run(scene);
      t.judge.equal("what was closed", closesOf(scene).toSorted(), closes.toSorted());
    },
  ),
  episodeCheck(
    {
      clause: "EPI-E2-004",
      name: "shielded",
      title: "a Stop during a clean-up does not interrupt it.",
    },
    async (t) => {
      const scene = t.scene();
      let left = false;
      const { close } = scene.scripts.environment;
      scene.scripts.environment.close = async (request, call) => {
        await t.pause(400);
        left = call.signal.aborted;
        return (await close?.(request, call)) ?? {};
      };
      const running = t.begin(scene);
      await scene.asked("environment", "Close");
      await stopped(t, scene, StopMode.ABANDON);
      const { outcome } = await running.end;
      t.judge.equal("the Close was left", left, false);
      t.judge.equal(
        "all is released",
        outcome?.cleanUps.every(({ released }) => released),
        true,
      );
    },
  ),
  episodeCheck(
    { clause: "EPI-E2-005", name: "once", title: "no Close runs twice at once.", within: 20 },
    async (t) => {
      const scene = t.scene();
      let now = 0;
      let most = 0;
      const { close } = scene.scripts.agent;
      scene.scripts.agent.close = async (request, call) => {
        now += 1;
        most = Math.max(most, now);
        await t.pause(250);
        now -= 1;
        return (await close?.(request, call)) ?? {};
      };
      scene.scripts.agent.activate = (_request, call) => endlessTurn(call);
      const running = t.begin(scene, { timeouts: { ...shortTimeouts, activation: seconds(30) } });
      await scene.asked("agent", "Activate");
      await Promise.all([stopped(t, scene, StopMode.ABANDON), stopped(t, scene, StopMode.ABANDON)]);
      await running.end;
      t.judge.equal("at once", most, 1);
    },
  ),
  episodeCheck(
    {
      clause: "EPI-E2-006",
      name: "each-its-own",
      title: "two that hang are each given their own cleanup_timeout.",
      within: 20,
    },
    async (t) => {
      const scene = t.scene();
      scene.scripts.agent.close = async (_request, call) => await untilLeft(call);
      scene.scripts.environment.close = async (_request, call) => await untilLeft(call);
      const { outcome } = await t.run(scene, { timeouts: { ...shortTimeouts, cleanUp: seconds(0.5) } });
      const left = outcome?.cleanUps.filter(({ released }) => !released) ?? [];
      t.judge.equal("not released", left.length, 2);
      t.judge.each("their time", left, ({ duration }) => {
        const ms = Number(duration?.seconds ?? 0n) * 1000 + (duration?.nanos ?? 0) / 1e6;
        t.judge.that("its duration", ms >= 490, { expected: "500 ms", actual: `${ms} ms` });
      });
    },
  ),
  episodeCheck(
    {
      clause: "EPI-E2-009",
      name: "at-once",
      title: "with orphan_grace 0 an episode whose reader left is cleaned up at once.",
      within: 20,
    },
    async (t) => {
      const scene = t.scene();
      scene.scripts.agent.activate = (_request, call) => endlessTurn(call);
      const feed = t.elsewhere().run(
        t.request(scene, {
          orphanGrace: seconds(0),
          timeouts: { ...shortTimeouts, activation: seconds(60) },
        }),
      );
      await feed.next();
      await scene.asked("agent", "Activate");
      feed.cancel();
      await t.within("environment.Close", 5, scene.asked("environment", "Close"));
      t.judge.equal("what was closed", closesOf(scene), closes);
    },
  ),
  episodeCheck(
    {
      clause: "EPI-E2-008",
      name: "orphan",
      title: "an episode without a reader for orphan_grace is cleaned up, not before.",
      lane: "waiting",
      within: 20,
    },
    async (t) => {
      const scene = t.scene();
      scene.scripts.agent.activate = (_request, call) => endlessTurn(call);
      const feed = t.elsewhere().run(
        t.request(scene, {
          orphanGrace: seconds(1),
          timeouts: { ...shortTimeouts, activation: seconds(60) },
        }),
      );
      await feed.next();
      await scene.asked("agent", "Activate");
      const left = Date.now();
      feed.cancel();
      await t.within("environment.Close", 8, scene.asked("environment", "Close"));
      const took = Date.now() - left;
      t.judge.that("the wait", took >= 950, { expected: "1 s at least", actual: `${took} ms` });
    },
  ),
  episodeCheck(
    {
      clause: "EPI-E3-001",
      name: "verdict-stays",
      title: "a Close that fails stands beside the verdict.",
      within: 20,
    },
    async (t) => {
      const scene = t.scene();
      scene.scripts.environment.close = () => {
        throw new Error("it cannot be closed");
      };
      const { verdict, outcome } = await t.run(scene);
      t.judge.equal("the reward", verdict?.reward?.value, 0.5);
      const failed = outcome?.cleanUps.filter(({ released }) => !released).length;
      t.judge.equal("clean-ups that failed", failed, 1);
    },
  ),
  episodeCheck(
    {
      clause: "EPI-E3-002",
      name: "not-repeated",
      title: "a Close that fails does not repeat the episode.",
      within: 20,
    },
    async (t) => {
      const scene = t.scene();
      scene.scripts.environment.close = () => {
        throw new Error("it cannot be closed");
      };
      scene.scripts.environment.verify = () => verifiedAs({ case: "verdict", value: verdictOf(1) });
      await t.run(scene);
      t.judge.equal("Seeds", requestsOf(scene, rpcs.seed).length, 1);
      t.judge.equal("activations", requestsOf(scene, rpcs.activate).length, 1);
    },
  ),
];
