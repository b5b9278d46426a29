import type { MessageInitShape } from "@bufbuild/protobuf";
import { expect, describe as group, it } from "vitest";
import {
  FailureKind,
  Feature,
  type StatelessVerificationSchema,
  type SubmissionSchema,
  type VerifyRequestSchema,
} from "../../gen/index.js";
import { defineEnvironment } from "../../servers/environment/define-environment.js";
import { environmentService } from "../../servers/environment/environment-service.js";
import { createRuntime } from "../../servers/runtime/runtime.js";
import { serve } from "../../servers/runtime/serve.js";
import { BareClient } from "../bare-client.js";
import * as fixture from "./fixture.js";

const { seed, step, verify, describe, close } = fixture;
const canary = "CANARY-7f3a";

/** A seeded sum: each step adds what the seed and the text's length give; the answer is the sum. */
const summing = (counts = { verify: 0, close: 0 }) =>
  defineEnvironment({
    name: "gated",
    version: "1.0.0",
    reward: { timing: "step", minimum: 0, maximum: 100_000 },
    determinism: "seeded",
    stateless: true,
    read: () => null,
    seed: ({ seed = 1n }) => ({ state: { sum: 0, factor: Number(seed) }, seed }),
    step({ state, actions }) {
      const gained = state.factor * JSON.stringify(actions[0]?.kind.value, bigints).length;
      state.sum += gained;
      return { observation: String(state.sum), reward: gained };
    },
    verify({ state, stepRewards, steps, answer }) {
      counts.verify += 1;
      return { reward: stepRewards, metrics: { sum: state.sum, steps }, diagnostics: { answer } };
    },
    close() {
      counts.close += 1;
    },
  });

const bigints = (_key: string, value: unknown) => (typeof value === "bigint" ? Number(value) : value);

type SubmissionChange = Exclude<MessageInitShape<typeof SubmissionSchema>, { $typeName: string }>;
type StatelessChange = Exclude<MessageInitShape<typeof StatelessVerificationSchema>, { $typeName: string }>;

const stateless = (
  verificationId: string,
  change: StatelessChange = {},
  submission: MessageInitShape<typeof SubmissionSchema> = fixture.submission("done"),
): MessageInitShape<typeof VerifyRequestSchema> => ({
  target: {
    case: "stateless",
    value: {
      verificationId,
      context: fixture.seedRequest().context,
      task: fixture.task(),
      ...change,
    },
  },
  submission,
});

const taken = ["go", "further"].map((text, stepIndex) => ({ stepIndex, actions: [fixture.say(text)] }));
const worked = { ...(fixture.submission("done") as SubmissionChange), steps: taken };

const resultOf = (stream: {
  readonly messages: readonly { readonly event: { case: string | undefined; value?: unknown } }[];
}) =>
  stream.messages.at(-1)?.event.value as { outcome: { case: string; value: { reward?: { value: number } } } };

async function played(f: fixture.ServedWorld, worldSeed = 3n) {
  const seeded = await f.client.unary(seed, { ...fixture.seedRequest(), seed: worldSeed });
  await f.client.unary(step, fixture.stepRequest(0, "go"));
  await f.client.unary(step, fixture.stepRequest(1, "further"));
  const judged = await f.client.stream(verify, fixture.verifyRequest(0, { answer: "done" }));
  return { session: seeded.message?.session, verdict: resultOf(judged).outcome.value };
}

group("STATELESS_VERIFY", () => {
  it("gives work on a task the verdict of its session, steps counted (ENV-SLVR-001, ENV-SLVR-005)", async () => {
    await using f = await fixture.serveWorld(summing());
    expect((await f.client.unary(describe, {})).message?.service?.features).toContain(
      Feature.STATELESS_VERIFY,
    );
    const { verdict } = await played(f);
    const alone = await f.client.stream(verify, stateless("v1", { seed: 3n }, worked));
    expect(alone.messages.map(({ event }) => event.case)).toEqual(["accepted", "result"]);
    expect(resultOf(alone).outcome).toEqual({ case: "verdict", value: verdict });
    const without = await f.client.stream(verify, stateless("v2", { seed: 3n }));
    expect(resultOf(without).outcome.value.reward?.value).toBe(0);
  });

  it("joins, replays and conflicts by verification_id (ENV-SLVR-002), and releases its world", async () => {
    const counts = { verify: 0, close: 0 };
    await using f = await fixture.serveWorld(summing(counts));
    const all = await Promise.all(
      Array.from({ length: 20 }, () => f.another().stream(verify, stateless("v1", {}, worked))),
    );
    expect(new Set(all.map((stream) => JSON.stringify(stream.messages.at(-1), bigints))).size).toBe(1);
    expect(counts).toEqual({ verify: 1, close: 1 });
    expect((await f.client.stream(verify, stateless("v1"))).error?.reason).toBe("OPERATION_CONFLICT");
    expect((await f.client.stream(verify, stateless("v1", {}, worked))).delivery).toBe("replayed");
  });

  it("refuses what cannot be read by its path, before anything begins", async () => {
    const counts = { verify: 0, close: 0 };
    await using f = await fixture.serveWorld(summing(counts));
    const refused = async (change: object, submission: MessageInitShape<typeof SubmissionSchema> = {}) =>
      (await f.client.stream(verify, stateless("v1", change, submission))).error?.fields;
    expect(await refused({}, { steps: [{ stepIndex: 1, actions: [fixture.say("go")] }] })).toEqual([
      "submission.steps[0].step_index",
    ]);
    expect(await refused({}, { steps: [{ stepIndex: 0, actions: [fixture.say("go", "nobody")] }] })).toEqual([
      "submission.steps[0].actions[0].agent_id",
    ]);
    expect(counts.verify).toBe(0);
    const ok = await f.client.stream(verify, stateless("v1"));
    expect(resultOf(ok).outcome.case).toBe("verdict");
  });

  it("gives a session a state by which another instance verifies it (ENV-SLVR-004)", async () => {
    const verifierKey = Buffer.alloc(32, 7);
    const replica = async () => {
      const runtime = createRuntime({ verifierKey });
      const server = await serve({ runtime, services: [environmentService(summing(), runtime)] });
      return { server, client: new BareClient(server.url) };
    };
    const [first, second] = [await replica(), await replica()];
    try {
      const seeded = await first.client.unary(seed, { ...fixture.seedRequest(), seed: 3n });
      const verifierState = seeded.message?.session?.verifierState ?? new Uint8Array();
      expect(verifierState.length).toBeGreaterThan(0);
      expect(Buffer.from(verifierState).includes(canary)).toBe(false);
      await first.client.unary(step, fixture.stepRequest(0, "go"));
      await first.client.unary(step, fixture.stepRequest(1, "further"));
      const target = { sessionId: "s1", verificationIndex: 0, final: true, verifierState };
      const asked = (submission: MessageInitShape<typeof SubmissionSchema>) => ({
        target: { case: "session" as const, value: target },
        submission,
      });
      const here = await first.client.stream(verify, asked(fixture.submission("done")));
      const there = await second.client.stream(verify, asked(worked));
      expect(there.error).toBeUndefined();
      expect(resultOf(there).outcome).toEqual(resultOf(here).outcome);
    } finally {
      for (const { client, server } of [first, second]) {
        client.close();
        await server.close({ drainTimeoutMs: 0 });
      }
    }
  });

  it("refuses a state that was altered, is another session's, or comes where none is given (ENV-SLVR-003)", async () => {
    await using f = await fixture.serveWorld(summing());
    const state = (await f.client.unary(seed, fixture.seedRequest("s1"))).message?.session?.verifierState;
    const other = (await f.client.unary(seed, fixture.seedRequest("s2"))).message?.session?.verifierState;
    if (state === undefined || other === undefined) throw new Error("no state");
    expect(Buffer.from(state).equals(other)).toBe(false);
    const altered = Uint8Array.from(state, (byte, i) => (i === 20 ? byte ^ 1 : byte));
    const target = (verifierState: Uint8Array) => ({
      target: { case: "session" as const, value: { sessionId: "s1", final: false, verifierState } },
    });
    for (const bad of [altered, other, state.subarray(0, 30), Buffer.from("x")]) {
      expect((await f.client.stream(verify, target(bad))).error).toMatchObject({
        code: "INVALID_ARGUMENT",
        reason: "VERIFIER_STATE_INVALID",
      });
    }
    expect(resultOf(await f.client.stream(verify, target(state))).outcome.case).toBe("verdict");
    await using plain = await fixture.startFixture();
    await plain.client.unary(seed, fixture.seedRequest());
    expect((await plain.client.stream(verify, target(state))).error?.reason).toBe("VERIFIER_STATE_INVALID");
    expect((await plain.client.stream(verify, stateless("v1"))).error?.metadata).toEqual({
      feature: "STATELESS_VERIFY",
    });
  });

  it("tells steps that the world does not take as a failure, never as a reward", async () => {
    const ending = defineEnvironment({
      ...summing(),
      step: () => ({ observation: "over", reward: 1, terminated: true }),
    });
    await using f = await fixture.serveWorld(ending);
    const judged = await f.client.stream(verify, stateless("v1", {}, worked));
    expect(resultOf(judged).outcome).toMatchObject({
      case: "failure",
      value: { kind: FailureKind.VERIFIER_FAILED, reason: expect.stringContaining("submission.steps[1]") },
    });
    await f.client.unary(seed, fixture.seedRequest());
    expect((await f.client.unary(close, fixture.closeRequest())).message?.receipt?.cleanupConfirmed).toBe(
      true,
    );
  });
});
