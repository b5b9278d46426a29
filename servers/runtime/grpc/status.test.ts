import { create, fromBinary } from "@bufbuild/protobuf";
import { StringValueSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { StatusSchema } from "../../../gen/google/rpc/status_pb.js";
import { encodeGrpcMessage, errorTrailers, okTrailers } from "./status.js";

describe("encodeGrpcMessage", () => {
  it.each([
    ["path a/b: want x, got y?#[]@!$&'()*+;=", "path a/b: want x, got y?#[]@!$&'()*+;="],
    ["100%", "100%25"],
    ["line\nbreak\t", "line%0Abreak%09"],
    ["grüß 🚀", "gr%C3%BC%C3%9F %F0%9F%9A%80"],
    ["lone \ud800 surrogate", "lone %EF%BF%BD surrogate"],
    ["\u007f", "%7F"],
  ])("writes %j as %j", (message, encoded) => {
    expect(encodeGrpcMessage(message)).toBe(encoded);
  });
});

describe("errorTrailers", () => {
  it("carries code, message and details of both forms", () => {
    const error = new ConnectError("no", Code.NotFound, undefined, [
      { desc: StringValueSchema, value: { value: "one" } },
    ]);
    error.details.push({ type: "a.B", value: new Uint8Array([1, 2]) });
    const trailers = errorTrailers(error, undefined);
    expect(trailers["grpc-status"]).toBe("5");
    expect(trailers["grpc-message"]).toBe("no");
    const encoded = String(trailers["grpc-status-details-bin"]);
    expect(encoded).not.toContain("=");
    const status = fromBinary(StatusSchema, Buffer.from(encoded, "base64"));
    expect(status.code).toBe(5);
    expect(status.details.map((detail) => detail.typeUrl)).toEqual([
      "type.googleapis.com/google.protobuf.StringValue",
      "type.googleapis.com/a.B",
    ]);
  });

  it("never sends a code that gRPC does not have", () => {
    expect(errorTrailers(new ConnectError("?", 0 as Code), undefined)["grpc-status"]).toBe("2");
    expect(errorTrailers(new ConnectError("?", 99 as Code), undefined)["grpc-status"]).toBe("2");
  });

  it("joins the error's metadata with the service's trailers, and drops what is the transport's", () => {
    const error = new ConnectError("no", Code.Aborted, {
      "x-a": "1",
      "grpc-status": "0",
      "content-type": "x",
    });
    const trailers = errorTrailers(error, new Headers({ "x-a": "0", "x-b": "2" }));
    expect(trailers).toEqual({ "grpc-status": "10", "grpc-message": "no", "x-a": ["0", "1"], "x-b": "2" });
  });

  it("keeps the status where details would not fit into a header block", () => {
    const value = create(StringValueSchema, { value: "d".repeat(100_000) });
    const error = new ConnectError("big", Code.DataLoss, { "x-kept": "1" }, [
      { desc: StringValueSchema, value },
    ]);
    expect(errorTrailers(error, undefined)).toEqual({
      "grpc-status": "15",
      "grpc-message": "big",
      "x-kept": "1",
    });
  });

  it("keeps the status where trailers and message would not fit", () => {
    const error = new ConnectError("é".repeat(50_000), Code.DataLoss);
    const trailers = errorTrailers(error, new Headers({ "x-big": "b".repeat(70_000) }));
    expect(Object.keys(trailers)).toEqual(["grpc-status", "grpc-message"]);
    const message = String(trailers["grpc-message"]);
    expect(message.length).toBeLessThan(25_000);
    expect(decodeURIComponent(message)).toMatch(/^é+\.\.\.$/);
  });
});

describe("okTrailers", () => {
  it("sends each -bin value on its own line, without padding", () => {
    const custom = new Headers();
    custom.append("x-bin", "AQ==");
    custom.append("x-bin", "AgM=");
    expect(okTrailers(custom)).toEqual({ "grpc-status": "0", "x-bin": ["AQ", "AgM"] });
  });

  it("turns trailers that would not fit into INTERNAL", () => {
    expect(okTrailers(new Headers({ "x-big": "b".repeat(70_000) }))["grpc-status"]).toBe("13");
  });
});
