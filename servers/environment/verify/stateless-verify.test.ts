import { createHash } from "node:crypto";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { pino } from "pino";
import { expect, describe as group, it } from "vitest";
import {
  BlobService,
  FailureKind,
  Stage,
  type SubmissionSchema,
  type VerifyRequestSchema,
  type VerifyResponse,
} from "../../../gen/index.js";
import { BareClient } from "../../../test/bare-client.js";
import * as fixture from "../../../test/rules/fixture.js";
import type { Slot } from "../../runtime/admission.js";
import { createRuntime } from "../../runtime/runtime.js";
import { serve } from "../../runtime/serve.js";
import { defineEnvironment } from "../define-environment.js";
import { environmentService } from "../environment-service.js";

const { seed, close, verify, describe } = fixture;

const stateless = (
  verificationId: string,
  submission: MessageInitShape<typeof SubmissionSchema> = fixture.submission("42"),
): MessageInitShape<typeof VerifyRequestSchema> => ({
  target: {
    case: "stateless",
    value: { verificationId, context: fixture.seedRequest().context, task: fixture.task() },
  },
  submission,
});

interface Counts {
  seed: number;
  close: number;
}

const world = (counts: Counts = { seed: 0, close: 0 }, read: () => null = () => null) =>
  defineEnvironment({
    name: "gated",
    version: "1.0.0",
    reward: { timing: "terminal", minimum: 0, maximum: 1 },
    determinism: "seeded",
    stateless: true,
    read,
    async seed() {
      counts.seed += 1;
      await new Promise(setImmediate);
      return { state: null };
    },
    verify: ({ artifacts }) => ({ reward: 1, diagnostics: { artifacts: [...artifacts.keys()] } }),
    close() {
      counts.close += 1;
    },
  });

const outcomeOf = (stream: { readonly messages: readonly VerifyResponse[] }) => {
  const event = stream.messages.at(-1)?.event;
  if (event?.case !== "result") throw new Error("no result");
  return event.value.outcome;
};

group("An author's `read` that breaks in a verification without a session", () => {
  it("is its recorded failure, read once and in the log, as it is Seed's (R9, ENV-SLVR-002)", async () => {
    const lines: string[] = [];
    const log = pino({ level: "error" }, { write: (line: string) => lines.push(line) });
    let reads = 0;
    const runtime = createRuntime({ log });
    const broken = world(undefined, () => {
      reads += 1;
      throw new Error("/secret/path");
    });
    await using server = await serve({ runtime, services: [environmentService(broken, runtime)] });
    const client = new BareClient(server.url);
    const [first, again] = [
      await client.stream(verify, stateless("v1")),
      await client.stream(verify, stateless("v1")),
    ];
    client.close();
    expect(outcomeOf(first)).toMatchObject({
      case: "failure",
      value: { kind: FailureKind.SEED_FAILED, stage: Stage.VERIFY },
    });
    expect(again.delivery).toBe("replayed");
    expect(again.messages).toEqual(first.messages);
    expect(reads).toBe(1);
    expect(JSON.stringify(first.messages, (_key, value) => String(value))).not.toContain("/secret");
    expect(lines.filter((line) => line.includes("/secret/path"))).toHaveLength(1);
  });
});

group("What a verification without a session refers to is read when it has its place (R12)", () => {
  const bytes = Buffer.from("what was made");
  const ref = { sha256: createHash("sha256").update(bytes).digest(), sizeBytes: BigInt(bytes.length) };
  const referring = {
    agents: [{ agentId: "agent", artifacts: [{ name: "made", body: { case: "ref" as const, value: ref } }] }],
  };
  const queued = { limits: { maxSessions: 1, queueTimeoutMs: 60_000 } };

  it("and not before: bytes that come while it waits are there", async () => {
    await using f = await fixture.serveWorld(world(), queued);
    await f.client.unary(seed, fixture.seedRequest());
    const waiting = f.client.stream(verify, stateless("v1", referring));
    await f.client.unary(describe, {});
    const blobs = createClient(BlobService, createGrpcTransport({ baseUrl: f.server.url }));
    await blobs.putBlob(
      (async function* () {
        yield { ref, data: bytes };
      })(),
    );
    await f.client.unary(close, fixture.closeRequest());
    expect(outcomeOf(await waiting)).toMatchObject({
      case: "verdict",
      value: { diagnosticsJson: '{"artifacts":["made"]}' },
    });
  });

  it("and refused by its path where it is not there; the place goes to the next (ALL-BLOB-007)", async () => {
    await using f = await fixture.serveWorld(world(), queued);
    await f.client.unary(seed, fixture.seedRequest());
    const waiting = f.client.stream(verify, stateless("v1", referring));
    await f.client.unary(describe, {});
    await f.client.unary(close, fixture.closeRequest());
    const { error } = await waiting;
    expect(error).toMatchObject({
      reason: "NAME_UNKNOWN",
      fields: ["submission.agents[0].artifacts[0].ref"],
    });
    expect(outcomeOf(await f.client.stream(verify, stateless("v2"))).case).toBe("verdict");
  });
});

group("A drain that comes right when a verification without a session may begin (ALL-DRAIN-005)", () => {
  it.each(Array.from({ length: 12 }, (_, i) => i))(
    "either prevents it or ends it: %i turns after its place came",
    async (gap) => {
      const counts: Counts = { seed: 0, close: 0 };
      let give: (slot: Slot) => void = () => {};
      let asked: () => void = () => {};
      const waits = new Promise<void>((resolve) => {
        asked = resolve;
      });
      const runtime = createRuntime({
        admission: () => ({
          enter() {
            asked();
            return new Promise<Slot>((resolve) => {
              give = resolve;
            });
          },
        }),
      });
      const service = environmentService(world(counts), runtime);
      await using server = await serve({ runtime, services: [service] });
      const client = new BareClient(server.url);
      const running = client.stream(verify, stateless("v1"));
      await waits;
      give({ release() {} });
      for (let i = 0; i < gap; i += 1) await Promise.resolve();
      await service.drain();
      expect(service.live()).toBe(0);
      expect(counts.close).toBe(counts.seed);
      const ended = await running;
      client.close();
      if (counts.seed === 0) expect(ended.error?.reason).toBe("DRAINING");
      else expect(outcomeOf(ended)).toMatchObject({ value: { kind: FailureKind.CANCELLED } });
    },
  );
});
