import { describe, expect, it } from "vitest";
import { FrameError, FrameReader, frame } from "./frame-reader.js";

function readAll(reader: FrameReader): Uint8Array[] {
  const messages: Uint8Array[] = [];
  for (let next = reader.next(); next !== undefined; next = reader.next()) messages.push(next);
  return messages;
}

describe("FrameReader", () => {
  const sizes = [0, 1, 4, 5, 300, 0, 17, 40_000, 2];
  const messages = sizes.map((size, index) => new Uint8Array(size).fill(index + 1));
  const bytes = Buffer.concat(messages.flatMap((message) => frame(message)));

  it.each([1, 2, 3, 5, 7, 64, 4096, bytes.length])("reads messages out of chunks of %d bytes", (size) => {
    const reader = new FrameReader(1_000_000);
    const read: Uint8Array[] = [];
    for (let at = 0; at < bytes.length; at += size) {
      reader.push(bytes.subarray(at, at + size));
      read.push(...readAll(reader));
    }
    expect(read.map((message) => Buffer.from(message))).toEqual(
      messages.map((message) => Buffer.from(message)),
    );
    expect(reader.midMessage).toBe(false);
  });

  it("does not copy a message that lies in one chunk", () => {
    const reader = new FrameReader(100);
    const chunk = Buffer.concat(frame(new Uint8Array([1, 2, 3])));
    reader.push(chunk);
    const message = reader.next();
    expect(message?.buffer).toBe(chunk.buffer);
  });

  it("knows a message that has begun", () => {
    const reader = new FrameReader(100);
    for (const part of [[0], [0, 0, 0, 3], [1, 2]]) {
      reader.push(new Uint8Array(part));
      expect(reader.next()).toBeUndefined();
      expect(reader.midMessage).toBe(true);
    }
  });

  it("refuses a length above the limit before it has the bytes", () => {
    const reader = new FrameReader(100);
    reader.push(new Uint8Array([0, 0xff, 0xff, 0xff, 0xff]));
    expect(() => reader.next()).toThrow("found one of 4294967295 bytes");
  });

  it.each([1, 2, 0x80])("refuses flags %d", (flags) => {
    const reader = new FrameReader(100);
    reader.push(new Uint8Array([flags, 0, 0, 0, 0]));
    expect(() => reader.next()).toThrow(FrameError);
  });
});
