import { beforeEach, expect, describe as group, it } from "vitest";
import { EnvironmentService, FailureKind } from "../../gen/index.js";
import {
  defineEnvironment,
  type EnvironmentDefinition,
} from "../../servers/environment/define-environment.js";
import * as fixture from "./fixture.js";
import { Gate } from "./gated-world.js";

const { seed, verify } = fixture;

/** A world whose clean-up breaks in a way. */
const breaking = (close: () => void | Promise<void>): EnvironmentDefinition<null, object> =>
  defineEnvironment({
    name: "gated",
    version: "1.0.0",
    reward: { timing: "terminal", minimum: 0, maximum: 1 },
    determinism: "seeded",
    stateless: true,
    read: () => null,
    seed: () => ({ state: {} }),
    verify: () => ({ reward: 1 }),
    fork: () => ({}),
    close,
  });

/** Where a clean-up that hangs does so; opened when a test has seen what it wanted to. */
let gate = new Gate();
beforeEach(() => {
  gate = new Gate();
  gate.shut();
});

const ways: Readonly<Record<string, () => void | Promise<void>>> = {
  throws: () => {
    throw new Error("the clean-up broke");
  },
  hangs: () => gate.pass(),
};

const stateless = (verificationId: string) => ({
  target: {
    case: "stateless" as const,
    value: { verificationId, context: fixture.seedRequest().context, task: fixture.task() },
  },
  submission: fixture.submission("done"),
});

for (const [way, close] of Object.entries(ways)) {
  group(`a clean-up that ${way} (R5, R8, R9)`, () => {
    it("hides no failure of the Seed behind which it runs", async () => {
      const world: EnvironmentDefinition<null, object> = {
        ...breaking(close),
        seed: () => ({ state: {}, next: ["nobody"] }),
        step: () => ({}),
      };
      await using f = await fixture.serveWorld(world, { limits: { closeGraceMs: 7000 } });
      const failed = f.client.unary(seed, fixture.seedRequest());
      if (way === "hangs") await f.clock.timer(7000);
      f.clock.advance(7000);
      expect((await failed).error?.failure).toMatchObject({
        kind: FailureKind.SEED_FAILED,
        reason: expect.stringContaining('"nobody"'),
      });
    });

    it("hides no failure of the Fork behind which it runs", async () => {
      const world: EnvironmentDefinition<null, object> = {
        ...breaking(close),
        // Each answer fits; what is seen now beside what was told first does not.
        seed: () => ({ state: {}, input: "x".repeat(3 << 20) }),
        step: () => ({ observation: "x".repeat(3 << 20) }),
      };
      await using f = await fixture.serveWorld(world, { limits: { closeGraceMs: 7000 } });
      await f.client.unary(seed, fixture.seedRequest());
      await f.client.unary(fixture.step, fixture.stepRequest(0));
      const forking = f.client.unary(EnvironmentService.method.fork, {
        sessionId: "copy",
        sourceSessionId: "s1",
        context: fixture.seedRequest().context,
        expectedNextStepIndex: 1,
      });
      if (way === "hangs") await f.clock.timer(7000);
      f.clock.advance(7000);
      expect((await forking).error).toMatchObject({ failure: { kind: FailureKind.SEED_FAILED } });
      gate.open();
    });

    it("hides no verdict of a verification without a session, and keeps its place no longer than the grace", async () => {
      const limits = { closeGraceMs: 7000, maxSessions: 1 };
      await using f = await fixture.serveWorld(breaking(close), { limits });
      const judged = await f.client.stream(verify, stateless("v1"));
      expect(judged.messages.at(-1)?.event).toMatchObject({ value: { outcome: { case: "verdict" } } });
      f.clock.advance(7000);
      await f.client.unary(fixture.describe, {});
      const next = await f.client.stream(verify, stateless("v2"));
      expect(next.error).toBeUndefined();
      gate.open();
    });
  });
}
