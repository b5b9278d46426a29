import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  BlobService,
  EndpointSchema,
  LeftResourceSchema,
  PutBlobResponseSchema,
  StepResponseSchema,
} from "../../gen/index.js";
import { Refusal } from "../../servers/runtime/refusal.js";
import {
  around,
  aroundCalls,
  aroundStream,
  type Call,
  eachOf,
  inAnswers,
  inDescriptors,
  inErrors,
  inRequests,
  type Next,
} from "./calls.js";
import { failureOf, reasonOf } from "./errors-told.js";
import { inventedVerification } from "./invented.js";
import type { Build, Mutant } from "./mutant.js";
import { inLimits, inRuntime, inWorld } from "./seams.js";

/** Stands around the calls of BlobService. */
const aroundBlobs = (rpc: "putBlob" | "getBlob", handle: (call: Call, next: Next) => unknown): Build =>
  aroundCalls((call, next) => {
    const own = call.method.parent.typeName === BlobService.typeName && call.method.localName === rpc;
    return own ? handle(call, next) : next(call);
  });

/** Changes the bytes of blobs on their way out. */
const inBlobs = (change: (data: Uint8Array) => Uint8Array): Build =>
  aroundBlobs("getBlob", (call, next) =>
    eachOf(next(call) as AsyncIterable<{ data: Uint8Array }>, (part) => ({
      ...part,
      data: change(part.data),
    })),
  );

/** R10, R11 and BLOBS: what messages carry. */
export const payloadMutants: readonly Mutant[] = [
  {
    name: "json-reparsed",
    clause: "ALL-DATA-002",
    what: "writes JSON text anew",
    build: inDescriptors((descriptor) => {
      if (descriptor.publicJson !== "")
        descriptor.publicJson = JSON.stringify(JSON.parse(descriptor.publicJson));
    }),
  },
  {
    name: "seed-through-double",
    clause: "ALL-DATA-003",
    what: "keeps seeds as doubles",
    build: inDescriptors((descriptor) => {
      if (descriptor.seed !== undefined) descriptor.seed = BigInt(Number(descriptor.seed));
    }),
  },
  {
    name: "latin1-bytes",
    clause: "ALL-DATA-004",
    what: "keeps bytes as text",
    build: inBlobs((data) => data.map((byte) => (byte < 0x80 ? byte : 0x3f))),
    also: ["ALL-BLOB-*"],
  },
  {
    name: "limit-smaller-than-said",
    clause: "ALL-DESC-006",
    what: "takes smaller messages than it declares",
    build: (parts) => {
      const { maxMessageBytes } = parts.runtime.limits;
      const smaller = inLimits(() => ({ maxMessageBytes: maxMessageBytes - 100_000 }))(parts);
      return inAnswers("describe", ({ service }) => {
        if (service?.limits !== undefined) service.limits.maxMessageBytes = BigInt(maxMessageBytes);
      })(smaller);
    },
  },
  {
    name: "big-answer-inline",
    clause: "ALL-DESC-009",
    what: "answers as much as it has, whatever its caller takes",
    build: around("step", async ({ request }, next) => {
      try {
        return await next();
      } catch (error) {
        if (failureOf(error) === undefined || !JSON.stringify(request.actions).includes("big")) throw error;
        // What the runtime would not send, in its place.
        return create(StepResponseSchema, {
          answerId: "big",
          outcomes: [{ agentId: "agent", infoJson: JSON.stringify({ seen: "x".repeat(6 << 20) }) }],
        });
      }
    }),
  },
  {
    name: "works-then-too-large",
    clause: "ALL-SIZE-001",
    what: "takes a step and refuses to answer it",
    build: inErrors((error, { method }) =>
      method.localName === "step" && failureOf(error) !== undefined
        ? new Refusal("MESSAGE_TOO_LARGE", "the answer is too large")
        : undefined,
    ),
  },
  {
    name: "receipt-holds-content",
    clause: "ALL-SIZE-002",
    what: "puts the work into its receipts",
    build: inAnswers("close", ({ receipt }) => {
      receipt?.left.push(create(LeftResourceSchema, { kind: "work", id: "x".repeat(1 << 17) }));
    }),
  },
  {
    name: "blob-truncated",
    clause: "ALL-BLOB-001",
    what: "loses the last byte of a blob",
    build: inBlobs((data) => data.subarray(0, -1)),
  },
  {
    name: "digest-unchecked",
    clause: "ALL-BLOB-002",
    what: "takes a blob that is not what its name says",
    build: aroundBlobs("putBlob", (call, next) =>
      Promise.resolve(next(call)).catch((error: unknown) => {
        if (reasonOf(error) === "INVALID_FIELD") return create(PutBlobResponseSchema);
        throw error;
      }),
    ),
  },
  {
    name: "put-twice-fails",
    clause: "ALL-BLOB-003",
    what: "refuses a blob that it has",
    build: aroundBlobs("putBlob", async (call, next) => {
      const answer = (await next(call)) as { alreadyStored: boolean };
      if (answer.alreadyStored) throw new Refusal("OPERATION_CONFLICT", "it is here already");
      return answer;
    }),
  },
  {
    name: "blobs-elsewhere",
    clause: "ALL-BLOB-004",
    what: "declares blobs and does not serve them",
    build: aroundBlobs("putBlob", () => {
      throw new ConnectError("not here", Code.Unimplemented);
    }),
  },
  {
    name: "ref-read-as-empty",
    clause: "ALL-BLOB-006",
    what: "reads nothing where items are a blob",
    build: inRequests("verify", ({ submission }) => {
      for (const agent of submission?.agents ?? []) agent.itemsRef = undefined;
    }),
  },
  {
    name: "ref-skipped",
    clause: "ALL-BLOB-007",
    what: "skips a blob that it cannot read",
    build: aroundStream("verify", async function* ({ request }, next) {
      try {
        yield* next();
      } catch (error) {
        const referred = request.submission?.agents.some(({ itemsRef }) => itemsRef !== undefined);
        if (referred !== true || reasonOf(error) === "") throw error;
        yield* inventedVerification();
      }
    }),
  },
  {
    name: "restriction-echo-as-asked",
    clause: "ALL-DESC-011",
    what: "tells a looser limit than it keeps",
    build: inDescriptors(({ limits }) => {
      if (limits?.maxSteps !== undefined) limits.maxSteps += 1;
    }),
  },
  {
    name: "endpoint-dead",
    clause: "ALL-SCOPE-003",
    what: "names an endpoint where nothing listens",
    build: inDescriptors((descriptor) => {
      descriptor.endpoint = create(EndpointSchema, { url: "http://127.0.0.1:9" });
    }),
  },
  {
    name: "silent-loss",
    clause: "ALL-EVT-006",
    what: "does not tell a reader what it missed",
    build: aroundStream("watchSteps", async function* (_call, next) {
      for await (const message of next()) if (message.event.case !== "gap") yield message;
    }),
  },
  {
    name: "instance-id-constant",
    clause: "ALL-DESC-003",
    what: "has the same instance_id after it lost its records",
    build: inRuntime(() => ({ instanceId: "the-one-instance" })),
  },
  {
    name: "privileged-logged",
    clause: "ALL-PRIV-004",
    what: "writes privileged data to its output",
    build: inWorld(({ seed }) => ({
      seed(start) {
        process.stdout.write(`seeding with ${start.data.answer}\n`);
        return seed(start);
      },
    })),
  },
];
