import { expect, describe as group, it } from "vitest";
import { FailureKind } from "../../gen/index.js";
import { defineEnvironment } from "../../servers/environment/define-environment.js";
import { verifyInWorker } from "../../servers/environment/worker/verify-in-worker.js";
import * as fixture from "./fixture.js";
import type { Shared } from "./spinning-verifier.js";

const { seed, step, verify, describe } = fixture;

const module = new URL("./spinning-verifier.ts", import.meta.url);

const spinning = (flags: SharedArrayBuffer, uncloneable = false) =>
  defineEnvironment({
    name: "gated",
    version: "1.0.0",
    reward: { timing: "terminal", minimum: 0, maximum: 1 },
    determinism: "seeded",
    read: () => null,
    seed: (): { state: Shared } => ({ state: uncloneable ? ({ flags, f: () => {} } as Shared) : { flags } }),
    step: () => ({ observation: "stepped" }),
    verify: verifyInWorker<null, Shared>(module),
  });

/** Resolves when the thread has begun `count` verifications. */
async function begun(flags: Int32Array, count: number): Promise<void> {
  while (Atomics.load(flags, 1) < count) await new Promise(setImmediate);
}

const outcomeOf = (stream: {
  readonly messages: readonly { readonly event: { case: string | undefined; value?: unknown } }[];
}) => (stream.messages.at(-1)?.event.value as { outcome: unknown } | undefined)?.outcome;

group("a verifier in a thread of its own", () => {
  it("burns CPU while other sessions and Describe are served, and gives its verdict", async () => {
    const shared = new SharedArrayBuffer(8);
    const flags = new Int32Array(shared);
    await using f = await fixture.serveWorld(spinning(shared));
    await f.client.unary(seed, fixture.seedRequest("s1"));
    await f.client.unary(seed, fixture.seedRequest("s2"));
    const judged = f.client.stream(verify, fixture.verifyRequest(0, { sessionId: "s1" }));
    await begun(flags, 1);
    expect((await f.client.unary(step, fixture.stepRequest(0, "go", "s2"))).message?.stepIndex).toBe(0);
    expect((await f.client.unary(describe, {})).message?.environment).toBe("gated");
    Atomics.store(flags, 0, 1);
    expect(outcomeOf(await judged)).toMatchObject({
      case: "verdict",
      value: { reward: { value: 1 }, diagnosticsJson: '{"answer":"42"}' },
    });
  });

  it("ends a verification that passes its timeout with its thread; the next one gets a new one", async () => {
    const shared = new SharedArrayBuffer(8);
    const flags = new Int32Array(shared);
    await using f = await fixture.serveWorld(spinning(shared));
    await f.client.unary(seed, fixture.seedRequest());
    const judged = f.client.stream(verify, {
      ...fixture.verifyRequest(0, { final: false }),
      timeout: { seconds: 5n },
    });
    await begun(flags, 1);
    f.clock.advance(5000);
    expect(outcomeOf(await judged)).toMatchObject({ case: "failure", value: { kind: FailureKind.TIMEOUT } });
    Atomics.store(flags, 0, 1);
    const again = await f.client.stream(verify, fixture.verifyRequest(1, { final: false }));
    expect(outcomeOf(again)).toMatchObject({ case: "verdict", value: { reward: { value: 1 } } });
  });

  it("tells its failures as they are, and of what breaks in it no word (R9)", async () => {
    const shared = new SharedArrayBuffer(8);
    Atomics.store(new Int32Array(shared), 0, 1);
    await using f = await fixture.serveWorld(spinning(shared));
    await f.client.unary(seed, fixture.seedRequest());
    const judge = async (index: number, answer: string) =>
      outcomeOf(await f.client.stream(verify, fixture.verifyRequest(index, { final: false, answer })));
    expect(await judge(0, "fail")).toMatchObject({
      case: "failure",
      value: { kind: FailureKind.JUDGE_RATE_LIMITED, reason: "busy judge" },
    });
    const broken = await judge(1, "break");
    expect(broken).toMatchObject({ case: "failure", value: { kind: FailureKind.VERIFIER_FAILED } });
    expect(JSON.stringify(broken)).not.toContain("secret");
    expect(await judge(2, "exit")).toMatchObject({ case: "failure" });
    expect(await judge(3, "fine")).toMatchObject({ case: "verdict" });
  });

  it("fails a verification whose state is no data", async () => {
    await using f = await fixture.serveWorld(spinning(new SharedArrayBuffer(8), true));
    await f.client.unary(seed, fixture.seedRequest());
    const judged = await f.client.stream(verify, fixture.verifyRequest(0));
    expect(outcomeOf(judged)).toMatchObject({ case: "failure" });
  });
});
