import { EnvironmentService, Feature } from "../../../gen/index.js";
import type { CheckInit } from "../../check/check.js";
import type { EnvironmentTrial } from "./environment-trial.js";
import {
  firstActions,
  idleActions,
  idlingCheck,
  invalidActions,
  slowActions,
  stepOutcome,
} from "./known-actions.js";
import { endOf, openFrames, stepOf, stepped } from "./step-frames.js";

const badInput = { code: ["INVALID_ARGUMENT"], reason: [] };

/** Unanswered frames that every stream takes. */
const pipelined = 16;

const check = (init: Omit<CheckInit, "features">, run: (t: EnvironmentTrial) => Promise<void>) =>
  idlingCheck({ features: [Feature.STEP, Feature.STEP_STREAM], ...init }, run);

/** StepStream: frames, their order, their refusals, and one ledger with Step. */
export const stepStreamChecks = [
  check(
    {
      clause: "ENV-STRM-001",
      name: "as-unary",
      title: "the good script in frames is answered frame by frame, in order, as its unary twin is.",
      stacks: ["connect-node", "grpc-js"],
    },
    async (t) => {
      const good = t.must(t.fixture.sample.good, "environment.sample.good");
      const unary = await (await t.open()).play(good);
      const { id } = await t.open();
      const frames = openFrames(t);
      const sent = good.steps.map(({ actions }, index) => frames.send(stepOf(id, index, actions)));
      for (const [index, frame] of sent.entries()) {
        const step = stepped(t, `frame ${frame}`, await frames.answer(frame));
        const twin = unary[index];
        t.judge.equal(
          `what step ${index} did`,
          stepOutcome(t, step),
          twin === undefined ? undefined : stepOutcome(t, twin),
        );
      }
      const { status } = await frames.end();
      t.judge.equal("the end of the stream", status, undefined);
      t.judge.equal("the frames answered", frames.order, sent);
    },
  ),
  check(
    {
      clause: "ENV-STRM-002",
      name: "ahead",
      title: "16 frames sent before any answer is read are all answered; Describe declares as many.",
    },
    async (t) => {
      t.judge.that("Describe.max_pipelined_steps", t.described.maxPipelinedSteps >= pipelined, {
        expected: `${pipelined} or more`,
        actual: t.described.maxPipelinedSteps,
      });
      const { id } = await t.open();
      const frames = openFrames(t);
      const sent = Array.from({ length: pipelined }, (_, index) =>
        frames.send(stepOf(id, index, idleActions(t))),
      );
      for (const [index, frame] of sent.entries()) {
        const step = stepped(t, `frame ${frame}`, await frames.answer(frame));
        t.judge.equal(`step_index of frame ${frame}`, step.stepIndex, index);
      }
      frames.cancel();
    },
  ),
  check(
    {
      clause: "ENV-STRM-003",
      name: "refusal-is-answer",
      title: "a bad action is answered with its refusal; a good one at its index then goes on in the stream.",
      sendsInvalid: true,
    },
    async (t) => {
      const { id } = await t.open();
      const frames = openFrames(t);
      const bad = endOf(await frames.step(id, 0, invalidActions(t)));
      t.judge.refused("the bad action", bad, badInput);
      const good = stepped(t, "a good action", await frames.step(id, 0, firstActions(t)));
      t.judge.equal("its step_index", good.stepIndex, 0);
      frames.cancel();
    },
  ),
  check(
    {
      clause: "ENV-STRM-004",
      name: "behind-refused",
      title: "what was sent behind a refused step is OUT_OF_ORDER, until its index comes again.",
      sendsInvalid: true,
    },
    async (t) => {
      const { id } = await t.open();
      const frames = openFrames(t);
      const idle = idleActions(t);
      const bad = frames.send(stepOf(id, 0, invalidActions(t)));
      const [first, second] = [frames.send(stepOf(id, 1, idle)), frames.send(stepOf(id, 2, idle))];
      t.judge.refused("the bad step", endOf(await frames.answer(bad)), badInput);
      t.judge.refused("the step behind it", endOf(await frames.answer(first)));
      t.judge.refused("the one behind that", endOf(await frames.answer(second)));
      for (const index of [0, 1]) {
        const step = stepped(t, `step ${index} again`, await frames.step(id, index, idle));
        t.judge.equal("its step_index", step.stepIndex, index);
      }
      frames.cancel();
    },
  ),
  check(
    {
      clause: "ENV-STRM-005",
      name: "resumes",
      title: "a new stream goes on at the first unanswered step; each of the six was taken once.",
    },
    async (t) => {
      const session = await t.open();
      const actions = idleActions(t);
      const connection = t.connect();
      const first = openFrames(t, connection.client(EnvironmentService));
      const sent = [0, 1, 2, 3, 4, 5].map((index) => first.send(stepOf(session.id, index, actions)));
      const ids: string[] = [];
      for (const frame of sent.slice(0, 3)) {
        ids.push(stepped(t, `frame ${frame}`, await first.answer(frame)).answerId);
      }
      connection.cut();
      const second = openFrames(t, t.elsewhere());
      for (const index of [3, 4, 5]) {
        const step = stepped(t, `step ${index}`, await second.step(session.id, index, actions));
        t.judge.equal("its step_index", step.stepIndex, index);
        ids.push(step.answerId);
      }
      for (const [index, answerId] of ids.entries()) {
        const again = t.judge.answer(`the repeat of step ${index}`, await session.step(index, actions));
        t.judge.equal("its answer_id", again.answerId, answerId);
      }
      t.judge.answer("step 6", await session.step(6, actions));
    },
  ),
  check(
    {
      clause: "ENV-STRM-006",
      name: "half-close",
      title: "half-close ends the stream OK; the session goes on by Step.",
    },
    async (t) => {
      const session = await t.open();
      const frames = openFrames(t);
      stepped(t, "step 0", await frames.step(session.id, 0, idleActions(t)));
      const { status } = await frames.end();
      t.judge.equal("the end of the stream", status, undefined);
      t.judge.answer("a unary step 1", await session.step(1, idleActions(t)));
    },
  ),
  check(
    {
      clause: "ENV-STRM-007",
      name: "reader-leaves",
      title:
        "a stream that is reset in a slow step leaves no lock: its repeat and the next step are answered.",
    },
    async (t) => {
      const session = await t.open();
      const frames = openFrames(t, t.elsewhere());
      frames.send(stepOf(session.id, 0, slowActions(t)));
      await t.pause(50);
      frames.cancel();
      t.judge.answer("the repeat of the slow step", await session.step(0, slowActions(t)));
      t.judge.answer("the next step", await session.step(1, idleActions(t)));
    },
  ),
  check(
    {
      clause: "ENV-STRM-008",
      name: "one-ledger",
      title: "steps by turns in a stream and unary are one row; each replays over the other.",
    },
    async (t) => {
      const session = await t.open();
      const actions = idleActions(t);
      const frames = openFrames(t);
      const zero = stepped(t, "step 0 in the stream", await frames.step(session.id, 0, actions));
      const one = t.judge.answer("step 1 unary", await session.step(1, actions));
      const two = stepped(t, "step 2 in the stream", await frames.step(session.id, 2, actions));
      t.judge.equal("step 0 unary", t.judge.answer("its repeat", await session.step(0, actions)), zero);
      const again = stepped(t, "step 1 in the stream", await frames.step(session.id, 1, actions));
      t.judge.equal("step 1 in the stream", again, one);
      t.judge.equal("step 2 unary", t.judge.answer("its repeat", await session.step(2, actions)), two);
      frames.cancel();
    },
  ),
  check(
    {
      clause: "ENV-STRM-009",
      name: "slow-reader",
      title: "a reader that pauses under 320 pipelined steps gets every answer, in order.",
    },
    async (t) => {
      const { id } = await t.open();
      const frames = openFrames(t);
      const steps = 320;
      const sent: bigint[] = [];
      for (let read = 0; read < steps; read += 1) {
        while (sent.length < Math.min(steps, read + pipelined)) {
          sent.push(frames.send(stepOf(id, sent.length, idleActions(t))));
        }
        if (read % 80 === 0) await t.pause(150);
        const frame = sent[read] ?? 0n;
        const step = stepped(t, `frame ${frame}`, await frames.answer(frame));
        t.judge.equal("its step_index", step.stepIndex, read);
      }
      frames.cancel();
      t.judge.equal("the frames answered", frames.order, sent);
    },
  ),
  check(
    {
      clause: "ENV-STRM-011",
      name: "reason-of-step",
      title: "an unknown and a closed session are refused in a stream as Step refuses them.",
      sendsInvalid: true,
    },
    async (t) => {
      const closed = await t.open();
      t.judge.answer("Close", await closed.close());
      for (const id of [t.id("unknown"), closed.id]) {
        const name = { case: "stepIndex" as const, value: 0 };
        const unary = await t.calls.step({ sessionId: id, name, actions: idleActions(t) });
        t.judge.that(`Step of ${id}`, unary.status !== undefined, { expected: "a refusal", actual: "OK" });
        const frames = openFrames(t, t.elsewhere());
        const { status } = endOf(await frames.step(id, 0, idleActions(t)));
        t.judge.equal("the reason in the stream", status?.reason, unary.status?.reason);
        t.judge.equal("the code in the stream", status?.code, unary.status?.code);
        frames.cancel();
      }
    },
  ),
  check(
    {
      clause: "ENV-STRM-012",
      name: "heartbeats",
      title: "heartbeats during a step of 20 s answer nothing: its own answer comes for its frame.",
      lane: "waiting",
      within: 60,
      slow: true,
    },
    async (t) => {
      const hang = t.may(t.fixture.hang?.action, "environment.hang.action");
      const { id } = await t.open();
      const frames = openFrames(t);
      const timeout = { seconds: 20n, nanos: 0 };
      const name = { case: "stepIndex" as const, value: 0 };
      const frame = frames.send({
        operation: { case: "step", value: { sessionId: id, name, actions: [hang], timeout } },
      });
      t.judge.failed("the step that timed out", endOf(await frames.answer(frame)));
      t.judge.equal("the frames answered", frames.order, [frame]);
      t.judge.that("heartbeats", frames.heartbeats >= 1, {
        expected: "one at least",
        actual: frames.heartbeats,
      });
      frames.cancel();
    },
  ),
  check(
    {
      clause: "ENV-STRM-013",
      name: "no-batch",
      title: "without STEP_BATCH a frame of two steps, or with a Seed, is refused and does nothing.",
      sendsInvalid: true,
    },
    async (t) => {
      if (t.has(Feature.STEP_BATCH)) t.notApplicable("the subject declares STEP_BATCH");
      const session = await t.open();
      const actions = idleActions(t);
      const frames = openFrames(t);
      const two = frames.send(stepOf(session.id, 0, actions), stepOf(session.id, 1, actions));
      const seed = frames.send({ operation: { case: "seed", value: t.seedRequest() } });
      for (const frame of [two, seed]) {
        t.judge.each(`the answers to frame ${frame}`, await frames.answers(frame), (answer) =>
          t.judge.refused("the operation", endOf(answer)),
        );
      }
      const step = stepped(t, "step 0", await frames.step(session.id, 0, actions));
      t.judge.equal("its step_index", step.stepIndex, 0);
      frames.cancel();
    },
  ),
  check(
    {
      clause: "ENV-STRM-014",
      name: "failure-is-answer",
      title:
        "a step that breaks is answered with its Failure, the next with SESSION_FAILED; the stream lives on.",
    },
    async (t) => {
      const crash = t.may(t.fixture.crash?.action, "environment.crash.action");
      const { id } = await t.open();
      const frames = openFrames(t);
      const [broken, next] = [
        frames.send(stepOf(id, 0, [crash])),
        frames.send(stepOf(id, 1, idleActions(t))),
      ];
      t.judge.failed("the step that broke", endOf(await frames.answer(broken)));
      t.judge.refused("the next step", endOf(await frames.answer(next)));
      const later = await frames.step(id, 1, idleActions(t));
      t.judge.refused("a later one", endOf(later));
      frames.cancel();
    },
  ),
];
