import { FailureKind, StopMode } from "../../../gen/index.js";
import type { Scene } from "../../peers/cast.js";
import { answeredTurn, endlessTurn, turnOf } from "../../peers/scene-scripts.js";
import { orderOf, requestsOf, rpcs } from "./asked.js";
import { type EpisodeTrial, endOf, episodeCheck, seconds, shortTimeouts } from "./episode-trial.js";

const named = ({ rolloutId }: Scene) => ({ episodeId: { rolloutId } });

/** An episode whose agent is at work until it is stopped. */
async function atWork(t: EpisodeTrial, scene: Scene) {
  scene.scripts.agent.activate = (_request, call) => endlessTurn(call);
  const running = t.begin(scene, { timeouts: { ...shortTimeouts, activation: seconds(60) } });
  await scene.asked("agent", "Activate");
  return running;
}

/** Attach, Stop, Ack: who follows an episode, and who ends it. */
export const readerChecks = [
  episodeCheck(
    {
      clause: "EPI-ATT-001",
      name: "ended",
      title: "Attach follows an ended episode from after_sequence on.",
    },
    async (t) => {
      const scene = t.scene();
      const { events } = await t.run(scene);
      const middle = events[Math.floor(events.length / 2)]?.sequence ?? 0n;
      const all = await t.calls.attach(named(scene)).finish();
      const rest = await t.calls.attach({ ...named(scene), afterSequence: middle }).finish();
      const sequences = (messages: readonly { event?: { sequence: bigint } | undefined }[]) =>
        messages.flatMap(({ event }) =>
          event === undefined || event.sequence === 0n ? [] : [event.sequence],
        );
      const told = events.map(({ sequence }) => sequence).filter((sequence) => sequence > 0n);
      t.judge.equal("from the start", sequences(t.judge.stream("Attach", all)), told);
      t.judge.equal(
        `behind ${middle}`,
        sequences(t.judge.stream("Attach", rest)),
        told.filter((sequence) => sequence > middle),
      );
    },
  ),
  episodeCheck(
    {
      clause: "EPI-ATT-001",
      name: "running",
      title: "Attach follows a running episode to its outcome.",
    },
    async (t) => {
      const scene = t.scene();
      const running = await atWork(t, scene);
      const following = t.elsewhere().attach(named(scene)).finish();
      await t.calls.stop({ ...named(scene), mode: StopMode.ABANDON });
      const [own, other] = [await running.end, await following];
      const attached = endOf(t.judge.stream("Attach", other), other.status);
      t.judge.equal("its outcome", attached.outcome?.answerId, own.outcome?.answerId);
    },
  ),
  episodeCheck(
    {
      clause: "EPI-ATT-002",
      name: "unknown",
      title: "Attach to an episode that nobody began is NOT_FOUND, and begins nothing.",
      sendsInvalid: true,
    },
    async (t) => {
      const scene = t.scene();
      const { status } = await t.calls.attach(named(scene)).finish();
      t.judge.refused("Attach", { status });
      t.judge.equal("what was asked of the parts", orderOf(scene), []);
    },
  ),
  episodeCheck(
    {
      clause: "EPI-ATT-003",
      name: "keeps",
      title: "a reader by Attach keeps an episode whose first reader left.",
      lane: "waiting",
      within: 20,
    },
    async (t) => {
      const scene = t.scene();
      scene.scripts.agent.activate = async function* () {
        await t.pause(2_500);
        yield* answeredTurn();
      };
      const feed = t.elsewhere().run(
        t.request(scene, {
          orphanGrace: seconds(1),
          timeouts: { ...shortTimeouts, activation: seconds(60) },
        }),
      );
      await feed.next();
      await scene.asked("agent", "Activate");
      const attached = t.calls.attach(named(scene)).finish();
      await t.pause(200);
      feed.cancel();
      const { messages, status } = await attached;
      t.judge.equal("the reward", endOf(messages, status).verdict?.reward?.value, 0.5);
    },
  ),
  episodeCheck(
    {
      clause: "EPI-STOP-001",
      name: "abandon",
      within: 30,
      title: "Stop ABANDON: failure CANCELLED, nothing verified, all closed.",
    },
    async (t) => {
      const scene = t.scene();
      const running = await atWork(t, scene);
      const reply = await t.calls.stop({ ...named(scene), mode: StopMode.ABANDON });
      t.judge.equal("already_stopped", t.judge.answer("Stop", reply).alreadyStopped, false);
      const { failure, outcome } = await t.within("the outcome", 10, running.end);
      t.judge.equal("its kind", failure?.kind, FailureKind.CANCELLED);
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
      clause: "EPI-STOP-003",
      name: "finish",
      title: "Stop FINISH ends the agent's turn and verifies what is there.",
    },
    async (t) => {
      const scene = t.scene();
      let end: () => void = () => undefined;
      const interrupted = new Promise<void>((resolve) => {
        end = resolve;
      });
      scene.scripts.agent.activate = async function* () {
        yield* turnOf();
        await interrupted;
        yield* answeredTurn();
      };
      scene.scripts.agent.interrupt = async () => {
        end();
        return { alreadyEnded: false };
      };
      scene.scripts.agent.close = async () => {
        end();
        return { receipt: { cleanupConfirmed: true } };
      };
      const running = t.begin(scene, { timeouts: { ...shortTimeouts, activation: seconds(60) } });
      await scene.asked("agent", "Activate");
      t.judge.answer("Stop", await t.calls.stop({ ...named(scene), mode: StopMode.FINISH }));
      const { verdict } = await running.end;
      t.judge.equal("the reward", verdict?.reward?.value, 0.5);
    },
  ),
  episodeCheck(
    {
      clause: "EPI-STOP-004",
      name: "again",
      title: "a second Stop says already_stopped; Stop of an episode that nobody began is NOT_FOUND.",
      sendsInvalid: true,
    },
    async (t) => {
      const scene = t.scene();
      const running = await atWork(t, scene);
      const stop = { ...named(scene), mode: StopMode.ABANDON };
      t.judge.answer("Stop", await t.calls.stop(stop));
      await running.end;
      t.judge.equal("already_stopped", t.judge.answer("Stop", await t.calls.stop(stop)).alreadyStopped, true);
      const unknown = await t.calls.stop({ ...named(t.scene()), mode: StopMode.ABANDON });
      t.judge.refused("Stop of nothing", unknown);
    },
  ),
  episodeCheck(
    {
      clause: "EPI-STOP-005",
      name: "ended",
      title: "Stop of an ended episode changes nothing of its outcome.",
    },
    async (t) => {
      const scene = t.scene();
      const { outcome } = await t.run(scene);
      t.judge.answer("Stop", await t.calls.stop({ ...named(scene), mode: StopMode.ABANDON, reason: "late" }));
      const again = await t.calls.attach(named(scene)).finish();
      t.judge.equal("the outcome", endOf(again.messages, again.status).outcome, outcome);
    },
  ),
  episodeCheck(
    { clause: "EPI-STOP-006", name: "reason", title: "the reason of a Stop is in the outcome." },
    async (t) => {
      const scene = t.scene();
      const running = await atWork(t, scene);
      await t.calls.stop({ ...named(scene), mode: StopMode.ABANDON, reason: "the budget is spent" });
      const { outcome } = await running.end;
      t.judge.equal("stop_reason", outcome?.stopReason, "the budget is spent");
    },
  ),
  episodeCheck(
    {
      clause: "EPI-ACK-001",
      name: "not-again",
      title: "after Ack a Run of that name is replayed or ANSWER_EXPIRED, never run.",
    },
    async (t) => {
      const scene = t.scene();
      const { outcome } = await t.run(scene);
      t.judge.answer("Ack", await t.calls.ack(named(scene)));
      const { status, messages } = await t.calls.run(t.request(scene)).finish();
      if (status === undefined)
        t.judge.equal("the outcome", endOf(messages, status).outcome?.answerId, outcome?.answerId);
      else t.judge.refused("Run", { status });
      t.judge.equal("Seeds", requestsOf(scene, rpcs.seed).length, 1);
    },
  ),
  episodeCheck(
    { clause: "EPI-ACK-002", name: "again", title: "Ack again says already_acked." },
    async (t) => {
      const scene = t.scene();
      await t.run(scene);
      const first = t.judge.answer("Ack", await t.calls.ack(named(scene)));
      t.judge.equal("the first", first.alreadyAcked, false);
      t.judge.equal("the second", t.judge.answer("Ack", await t.calls.ack(named(scene))).alreadyAcked, true);
    },
  ),
];
