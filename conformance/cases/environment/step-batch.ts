import { Feature, type SeedRequest, type StepStreamAnswer } from "../../../gen/index.js";
import type { CheckInit } from "../../check/check.js";
import { statusOfMessage, statusText } from "../../subject/reply.js";
import type { EnvironmentTrial, OpenSession } from "./environment-trial.js";
import {
  firstActions,
  idleActions,
  idlingCheck,
  invalidActions,
  slowActions,
  stepOutcome,
} from "./known-actions.js";
import { endOf, type FrameOperation, openFrames, stepOf, stepped } from "./step-frames.js";

/** Sessions in one frame. */
const many = 8;
const badInput = { code: ["INVALID_ARGUMENT"], reason: [] };
const conflict = { code: ["ALREADY_EXISTS"], reason: ["OPERATION_CONFLICT"] };

const check = (init: Omit<CheckInit, "features">, run: (t: EnvironmentTrial) => Promise<void>) =>
  idlingCheck({ features: [Feature.STEP, Feature.STEP_BATCH], ...init }, run);

const sessions = (t: EnvironmentTrial): Promise<OpenSession[]> =>
  Promise.all(Array.from({ length: many }, () => t.open()));

const seeding = (value: SeedRequest): FrameOperation => ({ operation: { case: "seed", value } });

const closing = ({ sessionId, context }: SeedRequest): FrameOperation => ({
  operation: {
    case: "close",
    value: { sessionId, ...(context?.episodeId === undefined ? {} : { episodeId: context.episodeId }) },
  },
});

type Arm<C extends string> = Extract<StepStreamAnswer["answer"], { case: C }>["value"];

/** The content of an answer of this arm, or a finding. */
function arm<C extends "seed" | "close">(
  t: EnvironmentTrial,
  what: string,
  { answer, wanted }: { readonly answer: StepStreamAnswer; readonly wanted: C },
): Arm<C> {
  const { answer: one } = answer;
  t.judge.that(what, one.case === wanted, {
    expected: `an answer of ${wanted}`,
    actual: one.case === "error" ? statusText(statusOfMessage(one.value)) : (one.case ?? "nothing"),
  });
  return one.value as Arm<C>;
}

/** STEP_BATCH: frames of many sessions. */
export const stepBatchChecks = [
  check(
    {
      clause: "ENV-BATC-001",
      name: "many-sessions",
      title: `one frame steps ${many} sessions; each is answered in its place, as its unary twin is.`,
      stacks: ["connect-node", "grpc-js"],
    },
    async (t) => {
      const twin = t.judge.answer("the unary twin", await (await t.open()).step(0, firstActions(t)));
      const all = await sessions(t);
      const frames = openFrames(t);
      const frame = frames.send(...all.map(({ id }) => stepOf(id, 0, firstActions(t))));
      const answers = await frames.answers(frame);
      t.judge.equal("the number of answers", answers.length, all.length);
      const ids = new Set<string>();
      for (const [index, answer] of answers.entries()) {
        const step = stepped(t, `session ${index}`, answer);
        t.judge.equal(`what session ${index} did`, stepOutcome(t, step), stepOutcome(t, twin));
        ids.add(step.answerId);
      }
      t.judge.equal("answer_ids unlike each other", ids.size, all.length);
      for (const { id } of all) {
        const next = stepped(t, `${id} alone`, await frames.step(id, 1, idleActions(t)));
        t.judge.equal("its step_index", next.stepIndex, 1);
      }
      frames.cancel();
    },
  ),
  check(
    {
      clause: "ENV-BATC-001",
      name: "in-order-per-session",
      title: "two steps of one session in a frame are taken in the frame's order.",
    },
    async (t) => {
      const { id } = await t.open();
      const frames = openFrames(t);
      const answers = await frames.answers(
        frames.send(stepOf(id, 0, idleActions(t)), stepOf(id, 1, idleActions(t))),
      );
      t.judge.equal("the number of answers", answers.length, 2);
      t.judge.each("the answers", answers, (answer, index) =>
        t.judge.equal(`step_index ${index}`, stepped(t, `step ${index}`, answer).stepIndex, index),
      );
      frames.cancel();
    },
  ),
  check(
    {
      clause: "ENV-BATC-002",
      name: "one-refused",
      title: `one bad action among ${many} is refused alone; the others step.`,
      sendsInvalid: true,
    },
    async (t) => {
      const all = await sessions(t);
      const frames = openFrames(t);
      const bad = 3;
      const frame = frames.send(
        ...all.map(({ id }, index) => stepOf(id, 0, index === bad ? invalidActions(t) : idleActions(t))),
      );
      const answers = await frames.answers(frame);
      t.judge.equal("the number of answers", answers.length, all.length);
      for (const [index, answer] of answers.entries()) {
        if (index === bad) t.judge.refused("the bad one", endOf(answer), badInput);
        else stepped(t, `session ${index}`, answer);
      }
      frames.cancel();
    },
  ),
  check(
    {
      clause: "ENV-BATC-002",
      name: "one-failed",
      title: `one action that breaks among ${many} fails alone; the others step.`,
    },
    async (t) => {
      const crash = t.may(t.fixture.crash?.action, "environment.crash.action");
      const all = await sessions(t);
      const frames = openFrames(t);
      const frame = frames.send(
        ...all.map(({ id }, index) => stepOf(id, 0, index === 0 ? [crash] : idleActions(t))),
      );
      const answers = await frames.answers(frame);
      t.judge.equal("the number of answers", answers.length, all.length);
      for (const [index, answer] of answers.entries()) {
        if (index === 0) t.judge.failed("the one that breaks", endOf(answer));
        else stepped(t, `session ${index}`, answer);
      }
      frames.cancel();
    },
  ),
  check(
    {
      clause: "ENV-BATC-003",
      name: "seed-in-frame",
      title: "a Seed in a frame makes the session, replays, conflicts, and is refused, as Seed does.",
      sendsInvalid: true,
    },
    async (t) => {
      const request = t.seedRequest();
      const frames = openFrames(t);
      const seed = (asked: SeedRequest) => frames.answer(frames.send(seeding(asked)));
      const made = arm(t, "the Seed", { answer: await seed(request), wanted: "seed" });
      t.judge.equal("its session_id", made.session?.sessionId, request.sessionId);
      const unary = t.judge.answer("a unary repeat", await t.calls.seed(request));
      t.judge.equal("the unary repeat", unary, made);
      const again = arm(t, "a repeat", { answer: await seed(request), wanted: "seed" });
      t.judge.equal("the repeat in a frame", again, made);
      const other = { ...request, seed: (request.seed ?? 0n) + 1n };
      t.judge.refused("other content", endOf(await seed(other)), conflict);
      const nameless = t.seedRequest({ sessionId: "" });
      t.judge.refused("a Seed without an id", endOf(await seed(nameless)), badInput);
      stepped(t, "a step of it", await frames.step(request.sessionId, 0, idleActions(t)));
      frames.cancel();
    },
  ),
  check(
    {
      clause: "ENV-BATC-004",
      name: "close-in-frame",
      title: "a Close in a frame answers its receipt and leaves a tombstone, as Close does.",
      sendsInvalid: true,
    },
    async (t) => {
      const session = await t.open();
      const frames = openFrames(t);
      const close = async () => frames.answer(frames.send(closing(session.request)));
      const first = arm(t, "the Close", { answer: await close(), wanted: "close" });
      t.judge.equal("already_closed", first.receipt?.alreadyClosed, false);
      t.judge.equal("never_opened", first.receipt?.neverOpened, false);
      const unary = t.judge.answer("a unary Close", await session.close());
      t.judge.equal("already_closed of it", unary.receipt?.alreadyClosed, true);
      const seeded = await frames.answer(frames.send(seeding(session.request)));
      t.judge.refused("the equal Seed in a frame", endOf(seeded));
      t.judge.refused("the equal Seed alone", await t.calls.seed(session.request));
      const open = await t.open();
      stepped(t, "a step of another session", await frames.step(open.id, 0, idleActions(t)));
      frames.cancel();
    },
  ),
  check(
    {
      clause: "ENV-BATC-005",
      name: "slow-apart",
      title: "frames of others are answered while a slow session's own frame is still being done.",
    },
    async (t) => {
      const [slow, ...others] = await sessions(t);
      if (slow === undefined) throw new Error("there is no session");
      const frames = openFrames(t);
      const first = frames.send(stepOf(slow.id, 0, slowActions(t)));
      const sent = others.map(({ id }) => frames.send(stepOf(id, 0, idleActions(t))));
      stepped(t, "the slow step", await frames.answer(first));
      for (const frame of sent) stepped(t, `frame ${frame}`, await frames.answer(frame));
      t.judge.equal("the frame answered last", frames.order.at(-1), first);
      frames.cancel();
    },
  ),
];
