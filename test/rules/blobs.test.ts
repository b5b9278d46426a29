import { createHash } from "node:crypto";
import { create, toBinary } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { expect, describe as group, it } from "vitest";
import { type Artifact, BlobService, Feature, ItemListSchema, ItemSchema } from "../../gen/index.js";
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
});
