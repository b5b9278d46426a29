import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { FrameReader, framePrefix, joinFrame } from "./frame-reader.js";

function readAll(reader: FrameReader): string[] {
  const texts: string[] = [];
  for (let frame = reader.next(); frame !== undefined; frame = reader.next()) {
    texts.push(Buffer.from(frame.bytes).toString());
  }
  return texts;
}

function errorOf(run: () => unknown): ConnectError {
  try {
    run();
  } catch (error) {
    if (error instanceof ConnectError) return error;
  }
  throw new Error("expected a ConnectError");
}

const wire = Buffer.concat(
  ["", "a", "hello", "x".repeat(300)].map((text) => joinFrame(Buffer.from(text), false)),
);

describe("FrameReader", () => {
  it.each([1, 2, 3, 5, 7, 64, 10_000])("finds the same messages in chunks of %d bytes", (size) => {
    const reader = new FrameReader(1_000, false);
    const texts: string[] = [];
    for (let at = 0; at < wire.length; at += size) {
      reader.push(wire.subarray(at, at + size));
      texts.push(...readAll(reader));
    }
    expect(texts).toEqual(["", "a", "hello", "x".repeat(300)]);
    expect(reader.midMessage).toBe(false);
  });

  it("does not copy a message that lies in one chunk", () => {
    const chunk = joinFrame(Buffer.from("hello"), false);
    const reader = new FrameReader(100, false);
    reader.push(chunk);
    expect(reader.next()?.bytes.buffer).toBe(chunk.buffer);
  });

  it("knows that a message has been begun", () => {
    const reader = new FrameReader(100, false);
    reader.push(Buffer.from([0, 0]));
    expect(reader.next()).toBeUndefined();
    expect(reader.midMessage).toBe(true);
    reader.push(Buffer.from([0, 0, 2]));
    expect(reader.next()).toBeUndefined();
    expect(reader.midMessage).toBe(true);
    reader.clear();
    expect(reader.midMessage).toBe(false);
  });

  it("refuses a length over the limit from the prefix alone, naming both", () => {
    const reader = new FrameReader(100, false);
    reader.push(framePrefix(0xfffffff0, false));
    const error = errorOf(() => reader.next());
    expect(error.code).toBe(Code.ResourceExhausted);
    expect(error.rawMessage).toContain("4294967280 bytes");
    expect(error.rawMessage).toContain("100 bytes");
  });

  it("takes a message of exactly the limit", () => {
    const reader = new FrameReader(100, false);
    reader.push(joinFrame(Buffer.alloc(100), false));
    expect(reader.next()?.bytes.length).toBe(100);
  });

  it("reports the compression flag where an encoding was named, and refuses it where none was", () => {
    const packed = joinFrame(Buffer.from("z"), true);
    const open = new FrameReader(100, true);
    open.push(packed);
    expect(open.next()?.compressed).toBe(true);
    const closed = new FrameReader(100, false);
    closed.push(packed);
    expect(errorOf(() => closed.next()).code).toBe(Code.Internal);
  });

  it.each([2, 128, 255])("refuses flags of %d", (flags) => {
    const reader = new FrameReader(100, true);
    reader.push(Buffer.from([flags, 0, 0, 0, 0]));
    expect(errorOf(() => reader.next()).code).toBe(Code.Internal);
  });
});
