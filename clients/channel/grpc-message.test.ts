import { describe, expect, it } from "vitest";
import { decodeGrpcMessage, encodeGrpcTimeout } from "./grpc-message.js";

describe("decodeGrpcMessage", () => {
  it.each([
    [undefined, ""],
    ["plain / : ,", "plain / : ,"],
    ["n%C3%B6 %25", "nö %"],
    ["100% sure %zz %4", "100% sure %zz %4"],
    ["broken %C3", "broken \ufffd"],
  ])("%s", (encoded, decoded) => {
    expect(decodeGrpcMessage(encoded)).toBe(decoded);
  });
});

describe("encodeGrpcTimeout", () => {
  it.each([
    [0.2, "1m"],
    [1000, "1000m"],
    [1000.4, "1001m"],
    [99_999_999, "99999999m"],
    [100_000_000, "100000S"],
    [1e12, "16666667M"],
    [1e16, "99999999H"],
  ])("%d ms", (ms, encoded) => {
    expect(encodeGrpcTimeout(ms)).toBe(encoded);
  });
});
