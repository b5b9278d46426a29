import { create, type Message } from "@bufbuild/protobuf";
import { StringValueSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, it, vi } from "vitest";
import type { Frame } from "./frame-reader.js";
import { RequestStream } from "./request-stream.js";

function frame(text: string): Frame {
  return { compressed: false, bytes: Buffer.from(text) };
}

function open(decode?: (frame: Frame) => Message) {
  const source = {
    decode:
      decode ??
      (({ bytes }: Frame): Message => create(StringValueSchema, { value: Buffer.from(bytes).toString() })),
    pause: vi.fn(),
    resume: vi.fn(),
    discard: vi.fn(),
  };
  return { source, requests: new RequestStream(source) };
}

async function texts(requests: RequestStream): Promise<string[]> {
  const seen: string[] = [];
  for await (const message of requests) seen.push((message as Message & { value: string }).value);
  return seen;
}

describe("RequestStream", () => {
  it("gives messages in order, whether they come before or after they are asked for", async () => {
    const { requests } = open();
    requests.push(frame("a"));
    const reading = texts(requests);
    await Promise.resolve();
    requests.push(frame("b"));
    requests.push(frame("c"));
    requests.end();
    expect(await reading).toEqual(["a", "b", "c"]);
  });

  it("gives an error once, after the messages before it", async () => {
    const { requests } = open();
    const reason = new ConnectError("cut off", Code.Internal);
    requests.push(frame("a"));
    requests.end({ reason });
    expect((await requests.next()).done).toBe(false);
    await expect(requests.next()).rejects.toBe(reason);
    expect((await requests.next()).done).toBe(true);
  });

  it("rejects whoever waits when the call is aborted, and drops what is queued", async () => {
    const reason = new ConnectError("gone", Code.Canceled);
    const waiting = open().requests;
    const next = waiting.next();
    waiting.abort({ reason });
    await expect(next).rejects.toBe(reason);
    const queued = open().requests;
    queued.push(frame("a"));
    queued.end();
    queued.abort({ reason });
    await expect(queued.next()).rejects.toBe(reason);
  });

  it("pauses above 1 MiB and resumes below half of it", async () => {
    const { requests, source } = open();
    const large = "x".repeat(300 * 1024);
    for (let count = 0; count < 3; count++) requests.push(frame(large));
    expect(source.pause).not.toHaveBeenCalled();
    requests.push(frame(large));
    expect(source.pause).toHaveBeenCalledTimes(1);
    await requests.next();
    await requests.next();
    expect(source.resume).not.toHaveBeenCalled();
    await requests.next();
    expect(source.resume).toHaveBeenCalledTimes(1);
  });

  it("bounds empty messages too", () => {
    const { requests, source } = open();
    for (let count = 0; count < 20_000; count++) requests.push(frame(""));
    expect(source.pause).toHaveBeenCalledTimes(1);
  });

  it("discards the rest once the reader leaves", async () => {
    const { requests, source } = open();
    requests.push(frame("a"));
    requests.push(frame("b"));
    for await (const _ of requests) break;
    expect(source.discard).toHaveBeenCalledTimes(1);
    requests.push(frame("c"));
    expect((await requests.next()).done).toBe(true);
  });

  it("is over after a message that cannot be decoded", async () => {
    const fault = new ConnectError("not a message", Code.InvalidArgument);
    const { requests, source } = open(() => {
      throw fault;
    });
    requests.push(frame("a"));
    requests.push(frame("b"));
    await expect(requests.next()).rejects.toBe(fault);
    expect((await requests.next()).done).toBe(true);
    expect(source.discard).toHaveBeenCalledTimes(1);
  });
});
