import { expect, describe as group, it } from "vitest";
import { http2Channel } from "../../clients/channel/http2-channel.js";
import { createClient } from "../../clients/client.js";
import { EnvironmentService, Feature, type WatchStepsResponse } from "../../gen/index.js";
import * as fixture from "./fixture.js";

const { seed, step, close, describe } = fixture;
const { watchSteps, stepStream } = EnvironmentService.method;

/** An event as a test compares it. */
function told({ event }: WatchStepsResponse): unknown {
  if (event.case === "step") return Number(event.value.response?.sequence);
  if (event.case === "gap") return `gap ${event.value.untilSequence}`;
  return event.case;
}

/** A watch that is on its way, and a promise of its first `count` events. */
function watch(f: fixture.Fixture, afterSequence = 0n) {
  const events: WatchStepsResponse[] = [];
  let wake: () => void = () => {};
  let leave: () => void = () => {};
  const ended = f.client.stream(
    watchSteps,
    { sessionId: "s1", afterSequence },
    {
      onMessage: (event) => {
        events.push(event);
        wake();
      },
      onCall: (call) => {
        leave = () => call.cancel();
      },
    },
  );
  return {
    events,
    ended,
    leave: () => leave(),
    async first(count: number): Promise<unknown[]> {
      while (events.length < count) await new Promise<void>((resolve) => (wake = resolve));
      return events.slice(0, count).map(told);
    },
  };
}

group("WATCH_STEPS", () => {
  it("gives every step as it was answered, whoever took it, once and in order (ENV-WTCH-001, ENV-WTCH-003)", async () => {
    await using f = await fixture.startFixture();
    expect((await f.client.unary(describe, {})).message?.service?.features).toContain(Feature.WATCH_STEPS);
    await f.client.unary(seed, fixture.seedRequest());
    const answers = [
      (await f.client.unary(step, fixture.stepRequest(0, "one"))).message,
      (await f.client.unary(step, fixture.actionRequest("named", "two"))).message,
    ];
    await f.client.unary(step, fixture.stepRequest(0, "one"));
    const stream = f.another().duplex(stepStream);
    stream.write({
      frame: 1n,
      operations: [{ operation: { case: "step", value: fixture.stepRequest(2, "three") } }],
    });
    const third = (await stream.read())?.answers[0]?.answer;
    const seen = watch(f);
    expect(await seen.first(3)).toEqual([1, 2, 3]);
    const records = seen.events.map(({ event }) => (event.case === "step" ? event.value : undefined));
    expect(records.map((record) => record?.response)).toEqual([...answers, third?.value]);
    expect(records.map((record) => record?.actionId)).toEqual(["", "named", ""]);
    expect(records[1]?.actions).toMatchObject([fixture.say("two")]);
    seen.leave();
    stream.cancel();
  });

  it("follows a live session from behind a sequence, with heartbeats, and ends when the session does (ENV-WTCH-002, ENV-WTCH-004)", async () => {
    await using f = await fixture.startFixture();
    await f.client.unary(seed, fixture.seedRequest());
    await f.client.unary(step, fixture.stepRequest(0));
    const seen = watch(f, 1n);
    await f.client.unary(describe, {});
    await f.client.unary(step, fixture.stepRequest(1));
    expect(await seen.first(1)).toEqual([2]);
    f.clock.advance(10_000);
    expect(await seen.first(2)).toEqual([2, "heartbeat"]);
    await f.client.unary(step, fixture.stepRequest(2));
    await f.client.unary(close, fixture.closeRequest());
    const { error, messages } = await seen.ended;
    expect(error).toBeUndefined();
    expect(messages.map(told)).toEqual([2, "heartbeat", 3]);
    const late = await f.client.stream(watchSteps, { sessionId: "s1" });
    expect(late.error?.reason).toBe("SESSION_CLOSED");
    const unknown = await f.client.stream(watchSteps, { sessionId: "nobody" });
    expect(unknown.error?.reason).toBe("SESSION_UNKNOWN");
  });

  it("keeps as many steps as answers and tells of the gap before them", async () => {
    await using f = await fixture.startFixture({ stepAnswers: 64 });
    await f.client.unary(seed, fixture.seedRequest());
    for (let i = 0; i < 70; i += 1) await f.client.unary(step, fixture.stepRequest(i));
    const seen = watch(f);
    const events = await seen.first(65);
    expect(events[0]).toBe("gap 6");
    expect(events.slice(1)).toEqual(Array.from({ length: 64 }, (_, i) => i + 7));
    seen.leave();
  });

  it("shows no step that failed, and lets a session expire that is only watched (R6)", async () => {
    await using f = await fixture.startFixture();
    await f.client.unary(seed, { ...fixture.seedRequest(), lease: { seconds: 30n, nanos: 0 } });
    f.controls.failNext = { at: "step", error: new Error("/secret") };
    await f.client.unary(step, fixture.stepRequest(0));
    const seen = watch(f);
    await f.client.unary(describe, {});
    f.clock.advance(700);
    expect(await seen.first(1)).toEqual(["heartbeat"]);
    for (let i = 1; i < 3; i += 1) {
      f.clock.advance(10_000);
      expect((await seen.first(i + 1)).at(-1)).toBe("heartbeat");
    }
    f.clock.advance(10_000);
    const { messages } = await seen.ended;
    expect(messages.every(({ event }) => event.case === "heartbeat")).toBe(true);
  });

  it("gives a step whole that fits into a message, and else without its actions, then without what was seen (R11)", async () => {
    await using f = await fixture.startFixture({ maxMessageBytes: 8 << 20 });
    await f.client.unary(seed, fixture.seedRequest());
    const large = "x".repeat(3 << 20);
    const answers = [(await f.client.unary(step, fixture.stepRequest(0, large))).message];
    f.controls.observation = large;
    answers.push((await f.client.unary(step, fixture.stepRequest(1, large))).message);
    f.controls.observation = "x".repeat(5 << 20);
    const channel = http2Channel({ url: f.server.url }, { maxMessageBytes: 8 << 20 });
    const client = createClient(EnvironmentService, channel);
    answers.push(await client.step(fixture.stepRequest(2, "go")));
    await channel.close();
    const seen = watch(f);
    expect(await seen.first(3)).toEqual([1, 2, 3]);
    const records = seen.events.map(({ event }) => (event.case === "step" ? event.value : undefined));
    expect(records.map((record) => record?.actions.length)).toEqual([1, 0, 0]);
    expect(records.slice(0, 2).map((record) => record?.response)).toEqual(answers.slice(0, 2));
    const [outcome, ...others] = answers[2]?.outcomes ?? [];
    expect(others).toEqual([]);
    expect(records[2]?.response).toEqual({
      ...answers[2],
      outcomes: [{ ...outcome, observation: undefined }],
    });
    seen.leave();
  });
});
