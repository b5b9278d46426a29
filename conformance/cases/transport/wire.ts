import { gzipSync } from "node:zlib";
import { create, toBinary } from "@bufbuild/protobuf";
import {
  EnvironmentServiceDescribeResponseSchema,
  Feature,
  SeedRequestSchema,
  SeedResponseSchema,
  type StepRequest,
  StepRequestSchema,
} from "../../../gen/index.js";
import { frame, type RawCall } from "../../subject/raw-call.js";
import {
  closeSeeded,
  describeCall,
  framed,
  lives,
  neverOpened,
  onlyMessage,
  path,
  seedCall,
  type TransportTrial,
  transportCheck,
} from "./transport-trial.js";

const unimplemented = 12;
const cancel = 8;
const statusSeconds = 5;
/** A request of this many zeros is far beyond any message limit, and gzip makes it small. */
const bombBytes = 64 * 1024 * 1024;
const resets = 200;

function stepRequest(t: TransportTrial, sessionId: string, index: number): StepRequest {
  const actions = t.must(t.fixture.sample.bad?.steps[0]?.actions, "environment.sample.bad.steps");
  return create(StepRequestSchema, { sessionId, name: { case: "stepIndex", value: index }, actions });
}

/** Faults that a request can have, each of which no client library sends. */
function faults({
  bytes,
}: {
  readonly bytes: Buffer;
}): readonly { readonly name: string; readonly call: RawCall }[] {
  return [
    { name: "no message", call: { path: path("Seed"), chunks: [Buffer.alloc(0)] } },
    { name: "two messages", call: { path: path("Seed"), chunks: [bytes, bytes] } },
    { name: "half a message", call: { path: path("Seed"), chunks: [bytes.subarray(0, bytes.length / 2)] } },
    { name: "garbage", call: { path: path("Seed"), chunks: [frame(Buffer.alloc(16, 0xff))] } },
    { name: "an unknown method", call: { path: path("Nope"), chunks: [frame(new Uint8Array(0))] } },
    { name: "a reset", call: { path: path("Seed"), chunks: [bytes.subarray(0, 3)], reset: cancel } },
    {
      name: "a bad timeout",
      call: { path: path("Describe"), chunks: describeCall().chunks, headers: { "grpc-timeout": "soon" } },
    },
  ];
}

/** The wire itself: what clients, networks and proxies do to a call. */
export const wireChecks = [
  transportCheck(
    {
      clause: "TRN-WIRE-001",
      name: "lives-on",
      title: "after each of seven faults a fresh connection and a normal call work.",
      sendsInvalid: true,
    },
    async (t) => {
      const seeded = seedCall(t);
      for (const { name, call } of faults(seeded)) {
        using connection = t.raw();
        // A fault that is not answered at all is judged elsewhere: here only what comes after it.
        await Promise.race([connection.call(call), t.pause(500)]);
        t.judge.survives(`Describe after ${name}`, await t.elsewhere().describe({}));
      }
      await closeSeeded(t, seeded.request);
    },
  ),
  transportCheck(
    {
      clause: "TRN-WIRE-002",
      name: "no-message",
      title: "a request without a message ends with a status.",
      sendsInvalid: true,
    },
    async (t) => {
      using connection = t.raw();
      const call = connection.call({ path: path("Seed"), chunks: [Buffer.alloc(0)] });
      const reply = await t.within("the status of a call without a message", statusSeconds, call);
      t.judge.that("the status", reply.code !== 0, { expected: "an error", actual: "OK" });
    },
  ),
  transportCheck(
    {
      clause: "TRN-WIRE-003",
      name: "two-messages",
      title: "two Steps in one unary call have one effect at most.",
      features: [Feature.STEP],
      sendsInvalid: true,
    },
    async (t) => {
      const session = await t.open();
      using connection = t.raw();
      const chunks = [0, 1].map((index) => framed(StepRequestSchema, stepRequest(t, session.id, index)));
      t.observe("code of two messages", String((await connection.call({ path: path("Step"), chunks })).code));
      const { status } = await t.calls.step(stepRequest(t, session.id, 9));
      const expected = status?.metadata["expected_index"];
      t.judge.that("expected_index afterwards", expected === "0" || expected === "1", {
        expected: "0 or 1",
        actual: expected ?? status?.reason,
      });
    },
  ),
  transportCheck(
    {
      clause: "TRN-WIRE-004",
      name: "truncated",
      title: "a message cut in its middle, then half-closed, has no effect.",
      sendsInvalid: true,
    },
    async (t) => {
      const { request, bytes } = seedCall(t);
      using connection = t.raw();
      const cut = bytes.subarray(0, Math.floor(bytes.length / 2));
      const reply = await connection.call({ path: path("Seed"), chunks: [cut] });
      t.observe("code of a truncated message", String(reply.code));
      await neverOpened(t, request.sessionId);
      using fresh = t.raw();
      const whole = await fresh.call({ path: path("Seed"), chunks: [bytes] });
      onlyMessage(t, "the whole message", SeedResponseSchema, whole);
      await closeSeeded(t, request);
    },
  ),
  transportCheck(
    {
      clause: "TRN-WIRE-005",
      name: "garbage",
      title: "bytes that are no message, and an id that is no UTF-8, are not OK.",
      sendsInvalid: true,
    },
    async (t) => {
      const bytes = toBinary(SeedRequestSchema, t.seedRequest());
      const badText = Buffer.concat([Buffer.from([0x0a, 0x02, 0xc3, 0x28]), bytes]);
      for (const [name, message] of [
        ["0xff sixteen times", Buffer.alloc(16, 0xff)],
        ["an id that is no UTF-8", badText],
      ] as const) {
        using connection = t.raw();
        const reply = await connection.call({ path: path("Seed"), chunks: [frame(message)] });
        t.judge.that(`the code of ${name}`, reply.code !== 0, { expected: "an error", actual: "OK" });
      }
      await lives(t);
    },
  ),
  transportCheck(
    {
      clause: "TRN-WIRE-006",
      name: "unknown-method",
      title: "an unknown method is UNIMPLEMENTED.",
      sendsInvalid: true,
    },
    async (t) => {
      using connection = t.raw();
      const reply = await connection.call({ path: path("Nope"), chunks: [frame(new Uint8Array(0))] });
      t.judge.equal("the code", reply.code, unimplemented);
      onlyMessage(
        t,
        "a known method on that connection",
        EnvironmentServiceDescribeResponseSchema,
        await connection.call(describeCall()),
      );
    },
  ),
  transportCheck(
    {
      clause: "TRN-WIRE-007",
      name: "split",
      title: "a message sent byte by byte is read as one sent whole.",
    },
    async (t) => {
      const { request, bytes } = seedCall(t);
      using connection = t.raw();
      const chunks = Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
      const reply = await connection.call({ path: path("Seed"), chunks });
      const { session } = onlyMessage(t, "Seed byte by byte", SeedResponseSchema, reply);
      t.judge.equal("the session that it opened", session?.sessionId, request.sessionId);
      await closeSeeded(t, request);
    },
  ),
  transportCheck(
    {
      clause: "TRN-WIRE-008",
      name: "gzip",
      title: "a request by gzip is read, or refused UNIMPLEMENTED.",
    },
    async (t) => {
      const request = t.seedRequest();
      const message = gzipSync(toBinary(SeedRequestSchema, request));
      using connection = t.raw();
      const reply = await connection.call({
        path: path("Seed"),
        chunks: [frame(message, { compressed: true })],
        headers: { "grpc-encoding": "gzip" },
      });
      t.judge.that("the code", reply.code === 0 || reply.code === unimplemented, {
        expected: "OK or UNIMPLEMENTED",
        actual: reply.code,
      });
      if (reply.code === 0) {
        t.judge.answer("KeepAlive of it", await t.calls.keepAlive({ sessionId: request.sessionId }));
        await closeSeeded(t, request);
      } else await neverOpened(t, request.sessionId);
    },
  ),
  transportCheck(
    {
      clause: "TRN-WIRE-009",
      name: "gzip-bomb",
      title: "64 MiB of zeros, small by gzip, are refused.",
      lane: "alone",
      sendsInvalid: true,
      destructive: true,
    },
    async (t) => {
      using connection = t.raw();
      const reply = await connection.call({
        path: path("Seed"),
        chunks: [frame(gzipSync(Buffer.alloc(bombBytes)), { compressed: true })],
        headers: { "grpc-encoding": "gzip" },
      });
      t.judge.that("the code", reply.code !== 0, { expected: "an error", actual: "OK" });
      await lives(t);
    },
  ),
  transportCheck(
    {
      clause: "TRN-WIRE-010",
      name: "timeout",
      title: "a passed grpc-timeout on a slow Step leaves the session consistent.",
      features: [Feature.STEP],
    },
    async (t) => {
      const slow = t.must(t.fixture.slow?.action, "environment.slow.action");
      const session = await t.open();
      const request = create(StepRequestSchema, {
        sessionId: session.id,
        name: { case: "stepIndex", value: 0 },
        actions: [slow],
      });
      using connection = t.raw();
      const chunks = [framed(StepRequestSchema, request)];
      await connection.call({ path: path("Step"), chunks, headers: { "grpc-timeout": "100m" } });
      const again = t.judge.answer("the repeat", await t.calls.step(request));
      t.judge.equal("its step_index", again.stepIndex, 0);
      t.judge.answer("the next step", await t.calls.step(stepRequest(t, session.id, 1)));
    },
  ),
  transportCheck(
    {
      clause: "TRN-WIRE-011",
      name: "status-message",
      title: "the message of a refusal that quotes %, newline and other scripts arrives as text.",
      sendsInvalid: true,
    },
    async (t) => {
      const odd = "50% \n naïve 漢";
      const status = t.judge.refused(
        "an odd id",
        await t.calls.seed({ ...t.seedRequest(), sessionId: odd }),
        {
          code: ["INVALID_ARGUMENT"],
          reason: ["INVALID_FIELD"],
        },
      );
      t.judge.that("the status message", !/%[0-9A-F]{2}|\ufffd|Ã|æ/.test(status.message), {
        expected: "text that was decoded once",
        actual: status.message,
      });
    },
  ),
  transportCheck(
    {
      clause: "TRN-WIRE-012",
      name: "bin-metadata",
      title: "-bin metadata with and without padding is accepted.",
    },
    async (t) => {
      for (const value of ["AAE=", "AAE"]) {
        using connection = t.raw();
        const reply = await connection.call({ ...describeCall(), headers: { "x-test-bin": value } });
        onlyMessage(t, `Describe with ${value}`, EnvironmentServiceDescribeResponseSchema, reply);
      }
    },
  ),
  transportCheck(
    {
      clause: "TRN-WIRE-013",
      name: "metadata-6-kib",
      title: "metadata of 6 KiB is accepted.",
    },
    async (t) => {
      using connection = t.raw();
      const headers = Object.fromEntries(
        ["a", "b", "c"].map((name) => [`x-test-${name}`, "x".repeat(2_000)]),
      );
      const reply = await connection.call({ ...describeCall(), headers });
      onlyMessage(t, "Describe with 6 KiB of metadata", EnvironmentServiceDescribeResponseSchema, reply);
    },
  ),
  transportCheck(
    {
      clause: "TRN-WIRE-014",
      name: "rapid-reset",
      title: "many streams reset as they open leave the server serving; GOAWAY is allowed.",
      lane: "capacity",
      sendsInvalid: true,
      destructive: true,
    },
    async (t) => {
      using connection = t.raw();
      for (let count = 0; count < resets && !connection.gone; count += 1) {
        await connection.call({ path: path("Describe"), chunks: [Buffer.from([0])], reset: cancel });
      }
      t.observe("the connection after rapid resets", connection.gone ? "closed" : "open");
      await lives(t);
    },
  ),
  transportCheck(
    {
      clause: "TRN-WIRE-018",
      name: "same-answers",
      title: "connect-node and grpc-js get the same answers.",
    },
    async (t) => {
      const { EnvironmentService } = await import("../../../gen/index.js");
      const [one, two] = [t.connect("connect-node"), t.connect("grpc-js")].map((connection) =>
        connection.client(EnvironmentService),
      );
      if (one === undefined || two === undefined) throw new Error("two connections were opened");
      const first = t.judge.answer("Describe by connect-node", await one.describe({}));
      t.judge.equal("Describe by grpc-js", t.judge.answer("Describe", await two.describe({})), first);
      const unknown = { sessionId: t.id("unknown") };
      const refusals = [await one.keepAlive(unknown), await two.keepAlive(unknown)];
      const told = refusals.map(({ status }) => ({ ...status, message: "", descriptions: [] }));
      t.judge.equal("the refusal by grpc-js", told[1], told[0]);
    },
  ),
];
