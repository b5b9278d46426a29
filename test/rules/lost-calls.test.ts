import { expect, describe as group, it } from "vitest";
import { FailureKind } from "../../gen/index.js";
import * as fixture from "./fixture.js";

const { seed, step, verify } = fixture;

group("R7: a lost connection decides nothing", () => {
  it("goes on after its caller cancelled, passed its deadline, or vanished; a repeat joins it", async () => {
    await using f = await fixture.startFixture();
    await f.client.unary(seed, fixture.seedRequest());
    f.controls.step.shut();
    const cancelled = f.client.unary(step, fixture.stepRequest(0), {
      onCall: (call) => void f.controls.step.arrived(1).then(() => call.cancel()),
    });
    expect((await cancelled).error?.code).toBe("CANCELLED");
    const late = await f.another().unary(step, fixture.stepRequest(0), { deadlineMs: 50 });
    expect(late.error?.code).toBe("DEADLINE_EXCEEDED");
    const gone = f.another();
    const lost = gone.unary(step, fixture.stepRequest(0));
    gone.close();
    const joined = f.client.unary(step, fixture.stepRequest(0));
    await f.client.unary(fixture.describe, {});
    f.controls.step.open();
    expect((await joined).message?.stepIndex).toBe(0);
    expect((await joined).delivery).toBe("joined");
    expect(f.controls.counts.step).toBe(1);
    await lost;
  });

  it("belongs to the id, not to the connection: 25 steps over three connections (field-case-016)", async () => {
    await using f = await fixture.startFixture();
    const clients = [f.client, f.another(), f.another()];
    await f.client.unary(seed, fixture.seedRequest());
    for (let i = 0; i < 25; i += 1) {
      await (clients[i % 3] as typeof f.client).unary(step, fixture.stepRequest(i));
    }
    const last = await f.another().unary(step, fixture.stepRequest(24));
    const [item] = last.message?.outcomes[0]?.observation?.items ?? [];
    expect(item?.kind).toMatchObject({ value: { content: [{ kind: { value: "25" } }] } });
  });

  it("verifies once for a caller that gave up and came back twice (field-case-023)", async () => {
    await using f = await fixture.startFixture();
    await f.client.unary(seed, fixture.seedRequest());
    f.controls.verify.shut();
    const first = await f.client.stream(verify, fixture.verifyRequest(0), { deadlineMs: 50 });
    expect(first.error?.code).toBe("DEADLINE_EXCEEDED");
    const second = f.client.stream(verify, fixture.verifyRequest(0));
    await f.client.unary(fixture.describe, {});
    f.controls.verify.open();
    const third = await second.then(() => f.client.stream(verify, fixture.verifyRequest(0)));
    expect(third.messages).toEqual((await second).messages);
    expect(f.controls.counts.verify).toBe(1);
  });

  it("records a passed timeout as failure TIMEOUT, counted from the start and echoed", async () => {
    await using f = await fixture.startFixture();
    await f.client.unary(seed, fixture.seedRequest());
    f.controls.step.shut();
    const slow = f.client.unary(step, fixture.stepRequest(0));
    await f.controls.step.arrived(1);
    const timeout = { seconds: 1n, nanos: 0 };
    const accepted: (bigint | undefined)[] = [];
    const judged = f.client.stream(
      verify,
      { ...fixture.verifyRequest(0), timeout },
      { onMessage: ({ event }) => event.case === "accepted" && accepted.push(event.value.timeout?.seconds) },
    );
    await f.client.unary(fixture.describe, {});
    // Waits twice its timeout for the turn, and has not begun.
    f.clock.advance(2000);
    f.controls.verify.shut();
    f.controls.step.open();
    await slow;
    await f.controls.verify.arrived(1);
    f.clock.advance(500);
    f.clock.advance(500);
    const { messages } = await judged;
    expect(messages.at(-1)?.event).toMatchObject({
      case: "result",
      value: { outcome: { case: "failure", value: { kind: FailureKind.TIMEOUT } } },
    });
    expect(accepted).toEqual([1n]);
    expect((await f.client.stream(verify, { ...fixture.verifyRequest(0), timeout })).messages.at(-1)).toEqual(
      messages.at(-1),
    );
  });

  it("says something within a second and every fifteen, though nothing happens (ALL-ALIVE)", async () => {
    await using f = await fixture.startFixture();
    await f.client.unary(seed, fixture.seedRequest());
    f.controls.step.shut();
    const busy = f.client.unary(step, fixture.stepRequest(0));
    await f.controls.step.arrived(1);
    const seen: (string | undefined)[] = [];
    let heard: () => void = () => {};
    const judged = f.client.stream(verify, fixture.verifyRequest(0), {
      onMessage: ({ event }) => {
        seen.push(event.case);
        heard();
      },
    });
    const next = () => new Promise<void>((resolve) => (heard = resolve));
    await f.client.unary(fixture.describe, {});
    let message = next();
    f.clock.advance(1000);
    await message;
    message = next();
    f.clock.advance(15_000);
    await message;
    expect(seen).toEqual(["heartbeat", "heartbeat"]);
    f.controls.step.open();
    await Promise.all([busy, judged]);
    expect(seen).toEqual(["heartbeat", "heartbeat", "accepted", "result"]);
  });
});
