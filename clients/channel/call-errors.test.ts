import { create, fromJson, toBinary, toJson } from "@bufbuild/protobuf";
import { anyPack, DurationSchema } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import type * as grpc from "@grpc/grpc-js";
import { describe, expect, it } from "vitest";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.js";
import { StatusSchema } from "../../gen/google/rpc/status_pb.js";
import { Delivery, EnvironmentService, FailureSchema } from "../../gen/index.js";
import type { CallError } from "../call-error.js";
import { BOTH_CHANNELS, type OpenChannel } from "../fixtures/both-channels.js";
import { errorOf } from "../fixtures/call-outcome.js";
import { serveGrpc, status } from "../fixtures/grpc-server.js";
import { answer, answerStatus, framed, type ReceivedCall, serveHttp2 } from "../fixtures/http2-server.js";

const { describe: describeRpc } = EnvironmentService.method;

const errorInfo = (reason: string, metadata: Record<string, string> = {}, domain = "touchstone") =>
  anyPack(ErrorInfoSchema, create(ErrorInfoSchema, { reason, domain, metadata }));

/** The error of a call that a grpc-js server ends so. */
async function refusedBy(open: OpenChannel, ended: Partial<grpc.StatusObject>): Promise<CallError> {
  const handler: grpc.handleUnaryCall<unknown, unknown> = (_, callback) => callback(ended);
  await using server = await serveGrpc(EnvironmentService, { Describe: handler });
  await using channel = open(server);
  return await errorOf(channel.unary(describeRpc, create(describeRpc.input)));
}

/** The error of a call that a bare HTTP/2 server ends so. */
async function endedBy(open: OpenChannel, end: (call: ReceivedCall) => void): Promise<CallError> {
  await using server = await serveHttp2(end);
  await using channel = open(server);
  return await errorOf(channel.unary(describeRpc, create(describeRpc.input)));
}

describe.each(BOTH_CHANNELS)("%s channel: errors", (_, open) => {
  it("decodes a refusal: reason, metadata, fields, when to come again", async () => {
    const error = await refusedBy(
      open,
      status(Code.FailedPrecondition, "index 5: the next one is 3", [
        errorInfo("OUT_OF_ORDER", { expected_index: "3" }),
        anyPack(
          BadRequestSchema,
          create(BadRequestSchema, { fieldViolations: [{ field: "step_index", description: "is 5" }] }),
        ),
        anyPack(
          RetryInfoSchema,
          create(RetryInfoSchema, {
            retryDelay: create(DurationSchema, { seconds: 1n, nanos: 500_000_000 }),
          }),
        ),
      ]),
    );
    expect(error).toMatchObject({
      code: Code.FailedPrecondition,
      rawMessage: "index 5: the next one is 3",
      rpc: "touchstone.v1.EnvironmentService/Describe",
      reason: "OUT_OF_ORDER",
      metadata: { expected_index: "3" },
      violations: [{ field: "step_index", description: "is 5" }],
      retryAfterMs: 1500,
      failure: undefined,
      delivery: Delivery.DELIVERED,
      byCaller: false,
      isRefusal: true,
      isRecordedFailure: false,
      isUnknown: false,
    });
    expect(error.message).toContain("ended FAILED_PRECONDITION/OUT_OF_ORDER (DELIVERED): index 5");
  });

  it("field-case-009, field-case-042: a recorded failure keeps kinds that nobody knows", async () => {
    const newer: { kind: number; stage: number } = { kind: 99, stage: 77 };
    const failure = create(FailureSchema, { ...newer, retry: 1, reason: "later" });
    const error = await refusedBy(
      open,
      status(Code.Aborted, "later", [
        errorInfo("OPERATION_FAILED", { answer_id: "a-1" }),
        anyPack(FailureSchema, failure),
      ]),
    );
    expect(error).toMatchObject({ answerId: "a-1", isRecordedFailure: true, isRefusal: false });
    const kept = error.failure ?? create(FailureSchema);
    expect(kept.kind).toBe(99);
    expect(fromJson(FailureSchema, toJson(FailureSchema, kept))).toMatchObject({ kind: 99, stage: 77 });
  });

  it("field-case-042: an unknown reason is kept, and a hostile text is bounded and escaped", async () => {
    const text = "x".repeat(5_000);
    const hostile = "no\n2026-01-01 INFO all is well\u001b[31m";
    const long = await refusedBy(open, status(Code.NotFound, text, [errorInfo("A_NEWER_REASON")]));
    expect(long).toMatchObject({ reason: "A_NEWER_REASON", isRefusal: true, rawMessage: text });
    expect(long.message.length).toBeLessThan(1_000);
    const forged = await refusedBy(open, status(Code.NotFound, hostile, [errorInfo("A_NEWER_REASON")]));
    expect(forged.rawMessage).toBe(hostile);
    expect(forged.message).toContain("no\\n2026-01-01 INFO all is well\\u001b[31m");
    expect(forged.message).not.toContain("\n");
    expect(forged.message).not.toContain("\u001b");
  });

  it.each([
    ["no details", undefined],
    ["details that are no base64", "!!!"],
    ["details that are no status", "AAAA"],
    ["details cut off", Buffer.from([18, 200]).toString("base64")],
    [
      "details of another domain",
      Buffer.from(
        toBinary(
          StatusSchema,
          create(StatusSchema, { code: 14, details: [errorInfo("X", {}, "proxy.example")] }),
        ),
      ).toString("base64"),
    ],
    [
      "an ErrorInfo that cannot be read",
      Buffer.from(
        toBinary(
          StatusSchema,
          create(StatusSchema, {
            code: 14,
            details: [
              { typeUrl: "type.googleapis.com/google.rpc.ErrorInfo", value: new Uint8Array([10, 99]) },
              { typeUrl: "type.googleapis.com/google.rpc.RetryInfo", value: new Uint8Array([255]) },
            ],
          }),
        ),
      ).toString("base64"),
    ],
  ])(
    "field-case-005: %s is no typed failure, never a crash, never a permission to repeat",
    async (__, details) => {
      const error = await endedBy(open, ({ stream }) =>
        answer(stream, [], {
          "grpc-status": "14",
          "grpc-message": "who knows",
          ...(details === undefined ? {} : { "grpc-status-details-bin": details }),
        }),
      );
      expect(error).toMatchObject({
        code: Code.Unavailable,
        rawMessage: "who knows",
        reason: undefined,
        failure: undefined,
        retryAfterMs: undefined,
        delivery: Delivery.POSSIBLY_DELIVERED,
        isUnknown: true,
      });
    },
  );

  it("reads details with and without padding, and a message that a header mangled", async () => {
    const full = toBinary(
      StatusSchema,
      create(StatusSchema, { code: 9, message: "a/b: 100%", details: [errorInfo("SESSION_BUSY")] }),
    );
    for (const strip of [false, true]) {
      const base64 = Buffer.from(full).toString("base64");
      const error = await endedBy(open, ({ stream }) =>
        answerStatus(stream, {
          "grpc-status": "9",
          "grpc-message": "a%2Fb%3A 100%25",
          "grpc-status-details-bin": strip ? base64.replace(/=+$/, "") : base64,
        }),
      );
      expect(error).toMatchObject({ reason: "SESSION_BUSY", rawMessage: "a/b: 100%" });
    }
  });

  it("tells the instance that refused, also when it sent trailers only", async () => {
    const error = await endedBy(open, ({ stream }) =>
      answerStatus(stream, { "grpc-status": "5", "touchstone-instance": "i-9" }),
    );
    expect(error.info.headers.get("touchstone-instance")).toBe("i-9");
  });

  it("keeps a code that has no name", async () => {
    const error = await endedBy(open, ({ stream }) => answerStatus(stream, { "grpc-status": "42" }));
    expect(error.code).toBe(42);
    expect(error.message).toContain("CODE_42");
  });

  it("field-case-035: a proxy's 503 is told apart from an answer of the service", async () => {
    const error = await endedBy(open, ({ stream }) => {
      stream.respond({ ":status": 503, "content-type": "text/html" });
      stream.end("<h1>upstream gone</h1>");
    });
    expect(error).toMatchObject({
      code: Code.Unavailable,
      isUnknown: true,
      delivery: Delivery.POSSIBLY_DELIVERED,
    });
    expect(error.message).toContain('HTTP status 503 with content-type "text/html"');
  });

  it.each([
    [503, Code.Unavailable],
    [502, Code.Unavailable],
    [429, Code.Unavailable],
    [401, Code.Unauthenticated],
    [403, Code.PermissionDenied],
    [404, Code.Unimplemented],
    [400, Code.Internal],
    [500, Code.Unknown],
  ])("maps HTTP status %d without a body", async (httpStatus, code) => {
    const error = await endedBy(open, ({ stream }) =>
      stream.respond({ ":status": httpStatus }, { endStream: true }),
    );
    expect(error.code).toBe(code);
    expect(error.message).toContain(`HTTP status ${httpStatus}`);
  });

  it("says that a web server is none of ours", async () => {
    const error = await endedBy(open, ({ stream }) => {
      stream.respond({ ":status": 200, "content-type": "text/html; charset=utf-8" });
      stream.end("<html>It works!</html>");
    });
    expect(error).toMatchObject({ code: Code.Unknown, isUnknown: true });
    expect(error.message).toContain("found HTTP status 200");
  });

  it("field-case-035: an unreadable answer is an error of the transport", async () => {
    const error = await endedBy(open, ({ stream }) => answer(stream, [Buffer.from([0xff, 0xff, 0xff])]));
    expect(error).toMatchObject({ code: Code.Internal, isUnknown: true, byCaller: false });
    expect(error.message).toContain("EnvironmentServiceDescribeResponse");
  });

  it.each([
    ["no answer", 0],
    ["two answers", 2],
  ])("%s to a unary call is an error", async (__, count) => {
    const error = await endedBy(open, ({ stream }) =>
      answer(
        stream,
        Array.from({ length: count }, () => new Uint8Array(0)),
      ),
    );
    expect(error).toMatchObject({ code: Code.Internal, isUnknown: true });
  });

  it("an end without grpc-status is an error", async () => {
    const error = await endedBy(open, ({ stream }) => {
      stream.respond({ ":status": 200, "content-type": "application/grpc" });
      stream.end(framed(new Uint8Array(0)));
    });
    expect(error).toMatchObject({ isUnknown: true, byCaller: false });
  });

  it("an answer that is cut off is an error", async () => {
    const error = await endedBy(open, ({ stream }) => {
      stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      stream.end(Buffer.from([0, 0, 0, 0, 9, 1, 2]));
    });
    expect(error).toMatchObject({ code: Code.Internal, isUnknown: true });
  });
});
