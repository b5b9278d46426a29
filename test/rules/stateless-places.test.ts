import type { MessageInitShape } from "@bufbuild/protobuf";
import { expect, describe as group, it } from "vitest";
import { FailureKind, type VerifyRequestSchema, type VerifyResponse } from "../../gen/index.js";
import type { EnvironmentDefinition } from "../../servers/environment/define-environment.js";
import * as fixture from "./fixture.js";
import { Controls, gatedWorld } from "./gated-world.js";

const { seed, close, verify, describe } = fixture;

const stateless = (verificationId: string): MessageInitShape<typeof VerifyRequestSchema> => ({
  target: {
    case: "stateless",
    value: { verificationId, context: fixture.seedRequest().context, task: fixture.task() },
  },
  submission: fixture.submission("42"),
});

async function serve(limits: Parameters<typeof fixture.serveWorld>[1] = {}) {
  const controls = new Controls();
  const gated = gatedWorld(controls);
  const world: EnvironmentDefinition<unknown, { count: number }> = {
    ...(gated as EnvironmentDefinition<unknown, { count: number }>),
    stateless: true,
  };
  return { controls, f: await fixture.serveWorld(world, limits) };
}

const outcomeOf = (stream: { readonly messages: readonly VerifyResponse[] }) => {
  const event = stream.messages.at(-1)?.event;
  if (event?.case !== "result") throw new Error("no result");
  return event.value.outcome;
};

group("a verification without a session has a place as a session has one (R12)", () => {
  it("is refused where sessions hold them all, and holds one itself", async () => {
    const { controls, f } = await serve({ limits: { maxSessions: 1 } });
    await using _served = f;
    await f.client.unary(seed, fixture.seedRequest());
    expect((await f.client.stream(verify, stateless("v1"))).error?.reason).toBe("CAPACITY");
    await f.client.unary(close, fixture.closeRequest());
    controls.verify.shut();
    const running = f.client.stream(verify, stateless("v1"));
    await controls.verify.arrived(1);
    expect((await f.client.unary(seed, fixture.seedRequest("s2"))).error?.reason).toBe("CAPACITY");
    controls.verify.open();
    expect(outcomeOf(await running).case).toBe("verdict");
  });

  it("is withdrawn from the queue when its caller has left (ALL-ADM-003)", async () => {
    const { controls, f } = await serve({ limits: { maxSessions: 1, queueTimeoutMs: 60_000 } });
    await using _served = f;
    await f.client.unary(seed, fixture.seedRequest());
    const waiting = f.client.stream(verify, stateless("v1"), {
      onCall: (call) => void f.client.unary(describe, {}).then(() => call.cancel()),
    });
    expect((await waiting).error?.code).toBe("CANCELLED");
    await f.client.unary(describe, {});
    await f.client.unary(close, fixture.closeRequest());
    await f.client.unary(describe, {});
    expect(controls.counts).toMatchObject({ seed: 1, verify: 0 });
  });

  it("stays in the queue while one of its callers is left", async () => {
    const { f } = await serve({ limits: { maxSessions: 1, queueTimeoutMs: 60_000 } });
    await using _served = f;
    await f.client.unary(seed, fixture.seedRequest());
    const left = f.client.stream(verify, stateless("v1"), {
      onCall: (call) => void f.client.unary(describe, {}).then(() => call.cancel()),
    });
    const staying = f.another().stream(verify, stateless("v1"));
    await left;
    await f.client.unary(describe, {});
    await f.client.unary(close, fixture.closeRequest());
    expect(outcomeOf(await staying).case).toBe("verdict");
  });
});

group("drain ends verifications without a session (R18, ALL-DRAIN-005)", () => {
  it("ends one that runs and releases its world, and refuses one that waits", async () => {
    const { controls, f } = await serve({ limits: { maxSessions: 1, queueTimeoutMs: 60_000 } });
    await using _served = f;
    controls.verify.shut();
    const running = f.client.stream(verify, stateless("v1"));
    await controls.verify.arrived(1);
    const waiting = f.client.stream(verify, stateless("v2"));
    await f.client.unary(describe, {});
    await f.server.close({ drainTimeoutMs: 0 });
    expect(outcomeOf(await running)).toMatchObject({
      case: "failure",
      value: { kind: FailureKind.CANCELLED },
    });
    expect((await waiting).error?.reason).toBe("DRAINING");
    expect(controls.counts).toMatchObject({ verify: 1, release: 1 });
  });

  it("releases the world of one whose work does not stop, once the grace is over", async () => {
    const { controls, f } = await serve({ limits: { closeGraceMs: 7000 } });
    await using _served = f;
    controls.obedient = false;
    controls.verify.shut();
    const running = f.client.stream(verify, stateless("v1"));
    await controls.verify.arrived(1);
    const closed = f.server.close({ drainTimeoutMs: 0 });
    await f.clock.timer(7000);
    f.clock.advance(7000);
    await closed;
    expect(outcomeOf(await running).case).toBe("failure");
    expect(controls.counts.release).toBe(1);
    controls.verify.open();
  });
});
