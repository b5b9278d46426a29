import { createHash } from "node:crypto";
import { create, toBinary } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { expect, describe as group, it } from "vitest";
import {
  type Artifact,
  BlobService,
  EnvironmentService,
  Feature,
  ItemListSchema,
  ItemSchema,
  Role,
} from "../../gen/index.js";
import { defineEnvironment } from "../../servers/environment/define-environment.js";
import { textOf } from "../../servers/runtime/items.js";
import * as fixture from "./fixture.js";

const { seed, verify, step, describe } = fixture;

const refOf = (bytes: Uint8Array) => ({
  sha256: createHash("sha256").update(bytes).digest(),
  sizeBytes: BigInt(bytes.length),
});

async function* parts(bytes: Uint8Array, ref = refOf(bytes), size = 1 << 20) {
  yield { ref, data: bytes.subarray(0, size) };
  for (let at = size; at < bytes.length; at += size) yield { data: bytes.subarray(at, at + size) };
}

const blobsOf = (f: fixture.ServedWorld) =>
  createClient(BlobService, createGrpcTransport({ baseUrl: f.server.url }));

const read = async (blobs: ReturnType<typeof blobsOf>, ref: ReturnType<typeof refOf>, offset = 0n) => {
  const got: Uint8Array[] = [];
  for await (const { data } of blobs.getBlob({ ref, offset })) got.push(data);
  return Buffer.concat(got);
};

const refused = async (call: Promise<unknown>): Promise<string> => {
  const [settled] = await Promise.allSettled([call]);
  return settled.status === "rejected" ? String(settled.reason) : "served";
};

const base = {
  name: "gated",
  version: "1.0.0",
  reward: { timing: "terminal", minimum: 0, maximum: 1 },
  determinism: "seeded",
  read: () => null,
  seed: () => ({ state: null }),
} as const;

/** An action that refers to blobs. */
const contentOf = (blobs: readonly Uint8Array[], agentId = "agent") => ({
  agentId,
  kind: {
    case: "content" as const,
    value: { blocks: blobs.map((bytes) => ({ kind: { case: "blobRef" as const, value: refOf(bytes) } })) },
  },
});

group("BLOBS", () => {
  it("gives back the bytes that were put, from any offset, on the service's own port (ALL-BLOB-001, ALL-BLOB-004)", async () => {
    await using f = await fixture.startFixture();
    expect((await f.client.unary(describe, {})).message?.service?.features).toContain(Feature.BLOBS);
    const blobs = blobsOf(f);
    for (const size of [0, 1, (1 << 20) + 1, 10 << 20]) {
      const bytes = Buffer.alloc(size, "abc");
      expect((await blobs.putBlob(parts(bytes))).alreadyStored).toBe(false);
      expect((await read(blobs, refOf(bytes))).equals(bytes)).toBe(true);
      expect((await read(blobs, refOf(bytes), BigInt(size >> 1))).equals(bytes.subarray(size >> 1))).toBe(
        true,
      );
      expect((await blobs.putBlob(parts(bytes))).alreadyStored).toBe(true);
    }
    expect(await refused(read(blobs, refOf(Buffer.alloc(1, "abc")), 2n))).toMatch(/offset/);
  });

  it("stores nothing whose digest or size is wrong, or whose stream breaks (ALL-BLOB-002)", async () => {
    await using f = await fixture.startFixture({ maxBlobBytes: 1000 });
    const blobs = blobsOf(f);
    const bytes = Buffer.from("right");
    for (const [given, ref, reason] of [
      [Buffer.from("wrong"), refOf(bytes), /sha256/],
      [Buffer.from("righ"), refOf(bytes), /size_bytes/],
      [Buffer.from("right!"), refOf(bytes), /size_bytes/],
      [Buffer.alloc(1001), refOf(Buffer.alloc(1001)), /at most 1000/],
    ] as const) {
      expect(await refused(blobs.putBlob(parts(given, ref)))).toMatch(reason);
      expect(await refused(read(blobs, ref))).toMatch(/not_found/);
    }
    async function* breaking() {
      yield* parts(bytes);
      throw new Error("gone");
    }
    await refused(blobs.putBlob(breaking()));
    expect(await refused(read(blobs, refOf(bytes)))).toMatch(/not_found/);
  });

  it("keeps a blob as long as answers, from its last use, and never more than it may hold", async () => {
    await using f = await fixture.startFixture({ heldBlobBytes: 10 });
    const blobs = blobsOf(f);
    const bytes = Buffer.from("12345678");
    await blobs.putBlob(parts(bytes));
    expect(await refused(blobs.putBlob(parts(Buffer.from("abc"))))).toMatch(/resource_exhausted/);
    f.clock.advance(9 * 60_000);
    await read(blobs, refOf(bytes));
    f.clock.advance(9 * 60_000);
    expect((await read(blobs, refOf(bytes))).toString()).toBe("12345678");
    f.clock.advance(10 * 60_000);
    expect(await refused(read(blobs, refOf(bytes)))).toMatch(/not_found/);
    expect((await blobs.putBlob(parts(Buffer.from("abc")))).alreadyStored).toBe(false);
  });

  it("makes a reference do what the bytes do: artifacts, items, blocks of a step (ALL-BLOB-006, ALL-BLOB-007)", async () => {
    const bytesOf = (artifact: Artifact | undefined) =>
      artifact?.body.case === "inline" ? Buffer.from(artifact.body.value).toString() : artifact?.body.case;
    const world = defineEnvironment({
      name: "gated",
      version: "1.0.0",
      reward: { timing: "terminal", minimum: 0, maximum: 1 },
      determinism: "seeded",
      read: () => null,
      seed: () => ({ state: null }),
      stepKinds: ["content"],
      step({ actions: [action] }) {
        const block = action?.kind.case === "content" ? action.kind.value.blocks[0] : undefined;
        const blob = block?.kind.case === "blob" ? Buffer.from(block.kind.value.data).toString() : "none";
        return { observation: blob };
      },
      verify: ({ answer, artifacts }) => ({
        reward: 1,
        diagnostics: { answer, patch: bytesOf(artifacts.get("patch")) },
      }),
    });
    await using f = await fixture.serveWorld(world);
    const blobs = blobsOf(f);
    const patch = Buffer.from("the patch");
    const said = fixture.say("by reference").kind;
    const items = (said?.case === "items" ? (said.value.items ?? []) : []).map((item) =>
      create(ItemSchema, item),
    );
    const list = toBinary(ItemListSchema, create(ItemListSchema, { items }));
    for (const bytes of [patch, list]) await blobs.putBlob(parts(bytes));
    await f.client.unary(seed, fixture.seedRequest());
    const block = (bytes: Uint8Array) => ({ kind: { case: "blobRef" as const, value: refOf(bytes) } });
    const content = (bytes: Uint8Array) => ({
      agentId: "agent",
      kind: { case: "content" as const, value: { blocks: [block(bytes)] } },
    });
    const unknown = Buffer.from("never put");
    expect((await f.client.unary(step, fixture.stepOf(0, [content(unknown)]))).error).toMatchObject({
      code: "NOT_FOUND",
      reason: "NAME_UNKNOWN",
      fields: ["actions[0].content.blocks[0].blob_ref"],
    });
    const stepped = await f.client.unary(step, fixture.stepOf(0, [content(patch)]));
    const [seen] = stepped.message?.outcomes[0]?.observation?.items ?? [];
    expect(seen?.kind.case === "chatMessage" ? textOf(seen.kind.value.content) : "").toBe("the patch");
    const handedIn = (bytes: Uint8Array) => ({
      target: fixture.verifyRequest(0).target,
      submission: {
        agents: [
          {
            agentId: "agent",
            itemsRef: refOf(list),
            artifacts: [{ name: "patch", body: { case: "ref" as const, value: refOf(bytes) } }],
          },
        ],
      },
    });
    expect((await f.client.stream(verify, handedIn(unknown))).error?.fields).toEqual([
      "submission.agents[0].artifacts[0].ref",
    ]);
    const judged = await f.client.stream(verify, handedIn(patch));
    expect(judged.messages.at(-1)?.event.value).toMatchObject({
      outcome: { value: { diagnosticsJson: '{"answer":"by reference","patch":"the patch"}' } },
    });
    // The blobs go; what was verified is replayed all the same (R2).
    for (let minutes = 0; minutes < 12; minutes += 1) {
      f.clock.advance(60_000);
      await f.client.unary(fixture.keepAlive, { sessionId: "s1" });
    }
    expect(await refused(read(blobs, refOf(patch)))).toMatch(/not_found/);
    expect((await f.client.stream(verify, handedIn(patch))).messages.at(-1)).toEqual(judged.messages.at(-1));
  });

  it("refuses a request that refers to more than a blob may have, however small it is itself", async () => {
    const shown: number[] = [];
    const world = defineEnvironment({
      ...base,
      stepKinds: ["content"],
      step({ actions: [action] }) {
        const blocks = action?.kind.case === "content" ? action.kind.value.blocks : [];
        const bytes = blocks.map(({ kind }) => (kind.case === "blob" ? kind.value.data : new Uint8Array()));
        shown.push(bytes.length, new Set(bytes).size);
        return {};
      },
      verify: () => ({ reward: 1 }),
    });
    await using f = await fixture.serveWorld(world, { limits: { maxBlobBytes: 1000 } });
    const blobs = blobsOf(f);
    const bytes = Buffer.alloc(400, "abc");
    await blobs.putBlob(parts(bytes));
    await f.client.unary(seed, fixture.seedRequest());
    const refs = (count: number) =>
      fixture.stepOf(0, [contentOf(Array.from({ length: count }, () => bytes))]);
    expect((await f.client.unary(step, refs(3))).error).toMatchObject({
      code: "RESOURCE_EXHAUSTED",
      reason: "CONTENT_TOO_LARGE",
      fields: ["actions[0].content.blocks[2].blob_ref"],
      metadata: { limit: "1000", actual: "1200" },
    });
    expect((await f.client.unary(step, refs(2))).error).toBeUndefined();
    // Two blocks, of one copy.
    expect(shown).toEqual([2, 1]);
    const artifacts = Array.from({ length: 3 }, (_, i) => ({
      name: `${i}`,
      body: { case: "ref" as const, value: refOf(bytes) },
    }));
    const handedIn = {
      target: fixture.verifyRequest(0).target,
      submission: { agents: [{ agentId: "agent", artifacts }] },
    };
    expect((await f.client.stream(verify, handedIn)).error).toMatchObject({
      reason: "CONTENT_TOO_LARGE",
      fields: ["submission.agents[0].artifacts[2].ref"],
    });
    // What a list of items refers to counts too.
    const block = { kind: { case: "blobRef" as const, value: refOf(bytes) } };
    const items = [
      { kind: { case: "toolResult" as const, value: { callId: "c", content: [block, block] } } },
    ];
    const list = toBinary(ItemListSchema, create(ItemListSchema, { items }));
    await blobs.putBlob(parts(list));
    const listed = {
      agents: [{ agentId: "agent", itemsRef: refOf(list), artifacts: artifacts.slice(0, 1) }],
    };
    expect((await f.client.stream(verify, { ...handedIn, submission: listed })).error).toMatchObject({
      reason: "CONTENT_TOO_LARGE",
      fields: ["submission.agents[0].items[0].tool_result.content[1].blob_ref"],
    });
  });

  it("takes room with the first part of a blob, and gives it back where the rest does not come", async () => {
    await using f = await fixture.startFixture({ heldBlobBytes: 10 });
    const blobs = blobsOf(f);
    const bytes = Buffer.from("12345678");
    const other = Buffer.from("abc");
    let leave: () => void = () => {};
    const left = new Promise<void>((resolve) => (leave = resolve));
    async function* stalling() {
      yield { ref: refOf(bytes), data: bytes.subarray(0, 1) };
      await left;
      throw new Error("gone");
    }
    const broken = refused(blobs.putBlob(stalling()));
    await expect.poll(() => refused(blobs.putBlob(parts(other)))).toMatch(/no room for 3 bytes: 8 of 10/);
    expect(await refused(read(blobs, refOf(bytes)))).toMatch(/not_found/);
    leave();
    await broken;
    await expect.poll(() => refused(blobs.putBlob(parts(other)))).toBe("served");
    expect((await read(blobs, refOf(other))).toString()).toBe("abc");
  });

  it("answers a step again though what it referred to has gone (ALL-REPEAT-002)", async () => {
    const world = defineEnvironment({
      ...base,
      stepKinds: ["content"],
      step: () => ({ observation: "seen" }),
      verify: () => ({ reward: 1 }),
    });
    await using f = await fixture.serveWorld(world);
    const blobs = blobsOf(f);
    const bytes = Buffer.from("a picture");
    await blobs.putBlob(parts(bytes));
    await f.client.unary(seed, fixture.seedRequest());
    const request = fixture.stepOf(0, [contentOf([bytes])]);
    const first = await f.client.unary(step, request);
    for (let minutes = 0; minutes < 12; minutes += 1) {
      f.clock.advance(60_000);
      await f.client.unary(fixture.keepAlive, { sessionId: "s1" });
    }
    expect(await refused(read(blobs, refOf(bytes)))).toMatch(/not_found/);
    const again = await f.client.unary(step, request);
    expect([again.delivery, again.message]).toEqual(["replayed", first.message]);
    expect((await f.client.unary(step, fixture.stepOf(1, [contentOf([bytes])]))).error?.reason).toBe(
      "NAME_UNKNOWN",
    );
  });

  it("gives an agent what it was given references to, and nothing else, known or not (R11, R15)", async () => {
    const principals = { controllerToken: "controller-0123456789" };
    const [told, shown, others, hidden, unknown] = ["told", "shown", "b's", "hidden", "unknown"].map((text) =>
      Buffer.from(text),
    ) as [Buffer, Buffer, Buffer, Buffer, Buffer];
    const block = (bytes: Uint8Array) => ({ kind: { case: "blobRef" as const, value: refOf(bytes) } });
    const input = (bytes: Uint8Array) => [
      { kind: { case: "chatMessage" as const, value: { role: Role.USER, content: [block(bytes)] } } },
    ];
    const world = defineEnvironment({
      ...base,
      agents: ["a", "b"],
      seed: () => ({
        state: null,
        agents: {
          a: { input: input(told).map((item) => create(ItemSchema, item)) },
          b: { input: input(others).map((item) => create(ItemSchema, item)) },
        },
        next: ["a"],
      }),
      stepKinds: ["content"],
      step: () => ({ outcomes: { a: { observation: { content: [block(shown)] } } }, next: ["a"] }),
      verify: () => ({ reward: 1 }),
    });
    await using f = await fixture.serveWorld(world, { principals });
    const as = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });
    const bare = (token: string) => ({ metadata: as(token).headers });
    const controller = principals.controllerToken;
    const blobs = blobsOf(f);
    for (const bytes of [told, shown, others, hidden]) await blobs.putBlob(parts(bytes), as(controller));
    const seeded = await f.client.unary(seed, fixture.seedRequest(), bare(controller));
    const [a = "", b = ""] = seeded.message?.session?.agents.map(({ token }) => token) ?? [];
    const get = async (token: string, bytes: Uint8Array): Promise<string> => {
      const got: Uint8Array[] = [];
      const reading = (async () => {
        for await (const { data } of blobs.getBlob({ ref: refOf(bytes) }, as(token))) got.push(data);
      })();
      const end = await refused(reading);
      return end === "served" ? Buffer.concat(got).toString() : end;
    };
    expect([await get(a, told), await get(b, others)]).toEqual(["told", "b's"]);
    const nothing = await get(a, unknown);
    expect(nothing).toMatch(/not_found.*given references/);
    for (const bytes of [shown, others, hidden]) expect(await get(a, bytes)).toBe(nothing);
    expect(await get(controller, hidden)).toBe("hidden");
    expect(await refused(blobs.putBlob(parts(unknown), as(a)))).toMatch(/permission_denied/);
    expect(await get("somebody-else", told)).toMatch(/unauthenticated/);
    const send = async (bytes: Uint8Array, index: number) =>
      (await f.client.unary(step, fixture.stepOf(index, [contentOf([bytes], "a")]), bare(a))).error;
    for (const bytes of [hidden, unknown]) {
      const error = await send(bytes, 0);
      expect(error).toMatchObject({
        reason: "NAME_UNKNOWN",
        fields: ["actions[0].content.blocks[0].blob_ref"],
      });
      expect(error?.message).toMatch(/given references/);
    }
    expect(await send(told, 0)).toBeUndefined();
    expect(await get(a, shown)).toBe("shown");
    expect(await get(b, shown)).toBe(nothing);
    expect(await send(shown, 1)).toBeUndefined();
    await f.client.unary(fixture.close, fixture.closeRequest(), bare(controller));
    expect(await get(a, told)).toMatch(/unauthenticated/);
  });

  it("gives an agent of a fork what it was given before the fork, and before that one's (R11, ENV-FORK-001)", async () => {
    const principals = { controllerToken: "controller-0123456789" };
    const shown = Buffer.from("shown before");
    const block = { kind: { case: "blobRef" as const, value: refOf(shown) } };
    const world = defineEnvironment({
      ...base,
      stepKinds: ["content"],
      step: ({ stepIndex }) => ({ observation: stepIndex === 0 ? { content: [block] } : "nothing more" }),
      verify: () => ({ reward: 1 }),
      fork: (state) => state,
    });
    await using f = await fixture.serveWorld(world, { principals });
    const bare = (token: string) => ({ metadata: { authorization: `Bearer ${token}` } });
    const controller = bare(principals.controllerToken);
    const blobs = blobsOf(f);
    await blobs.putBlob(parts(shown), { headers: controller.metadata });
    await f.client.unary(seed, fixture.seedRequest("s0"), controller);
    for (const index of [0, 1]) {
      const look = { ...fixture.stepOf(index, [contentOf([])]), sessionId: "s0" };
      expect((await f.client.unary(step, look, controller)).error).toBeUndefined();
    }
    for (const [from, to] of [
      ["s0", "s1"],
      ["s1", "s2"],
    ] as const) {
      const forked = await f.client.unary(
        EnvironmentService.method.fork,
        {
          sessionId: to,
          sourceSessionId: from,
          context: fixture.seedRequest().context,
          expectedNextStepIndex: 2,
        },
        controller,
      );
      const token = forked.message?.session?.agents[0]?.token ?? "";
      const got: Uint8Array[] = [];
      const headers = bare(token).metadata;
      for await (const { data } of blobs.getBlob({ ref: refOf(shown) }, { headers })) got.push(data);
      expect(Buffer.concat(got).toString()).toBe("shown before");
    }
  });
});
