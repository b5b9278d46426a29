// What an implementation sees when its client leaves.
import { once } from "node:events";
import { create } from "@bufbuild/protobuf";
import { Code, type ServiceImpl } from "@connectrpc/connect";
import { status } from "@grpc/grpc-js";
import { afterEach, describe, expect, it, vi } from "vitest";
import {
  type Probe,
  ProbeSchema,
  ProbeService,
} from "../../../test/transport/gen/transport/probe/v1/probe_pb.js";
import { ProbeClient } from "../../../test/transport/probe-client.js";
import { openPort, type PortOptions } from "../port/index.js";
import { serviceRoute } from "./service-route.js";

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function serve(
  implementation: Partial<ServiceImpl<typeof ProbeService>>,
  options: Partial<PortOptions> = {},
): Promise<ProbeClient> {
  const routes = [serviceRoute(ProbeService, implementation)];
  const port = await openPort({ routes, host: "127.0.0.1", port: 0, ...options });
  cleanups.push(() => port.close({ graceMs: 0 }));
  const client = new ProbeClient(port.url);
  cleanups.push(() => client.close());
  return client;
}

function cancelAfter(
  call: { on(event: "data" | "error", listener: () => void): unknown; cancel(): void },
  count: number,
) {
  let seen = 0;
  call.on("data", () => {
    seen++;
    if (seen === count) call.cancel();
  });
  call.on("error", () => {});
}

describe("field-case-1: a stream whose client leaves", () => {
  it("ends a generator that heeds its signal: the cancel is seen and finally runs once", async () => {
    const onFinally = vi.fn();
    let reason: unknown;
    const over = new Promise<void>((resolve) => {
      onFinally.mockImplementation(() => resolve());
    });
    const client = await serve({
      async *serverStream(_, { signal }) {
        const aborted = new Promise<never>((_resolve, reject) => {
          signal.addEventListener("abort", () => {
            reason = signal.reason;
            reject(signal.reason);
          });
        });
        try {
          for (let number = 0; number < 3; number++) yield { number };
          await aborted;
        } finally {
          onFinally();
        }
      },
      unary: () => ({ text: "next" }),
    });
    cancelAfter(client.serverStream({}), 3);
    await over;
    expect(reason).toMatchObject({ code: Code.Canceled });
    expect((await client.unary({})).answer?.text).toBe("next");
    expect(onFinally).toHaveBeenCalledTimes(1);
  });

  it("ends a generator that ignores its signal at its next event, and no event is produced afterwards", async () => {
    let produced = 0;
    const onFinally = vi.fn();
    const over = new Promise<void>((resolve) => {
      onFinally.mockImplementation(() => resolve());
    });
    const client = await serve({
      async *serverStream() {
        try {
          for (;;) {
            yield { number: produced++ };
            await new Promise((resolve) => setTimeout(resolve, 1));
          }
        } finally {
          onFinally();
        }
      },
      unary: () => ({ text: "next" }),
    });
    cancelAfter(client.serverStream({}), 3);
    await over;
    const atEnd = produced;
    for (let count = 0; count < 10; count++) expect((await client.unary({})).answer?.text).toBe("next");
    expect(produced).toBe(atEnd);
    expect(onFinally).toHaveBeenCalledTimes(1);
  });

  it("rejects the request iteration of a bidirectional call with CANCELED", async () => {
    let seen: (error: unknown) => void = () => {};
    const ended = new Promise<unknown>((resolve) => {
      seen = resolve;
    });
    const client = await serve({
      async *bidi(requests) {
        try {
          for await (const { number } of requests) yield { number };
        } catch (error) {
          seen(error);
          throw error;
        }
      },
    });
    const call = client.bidi();
    cancelAfter(call, 1);
    call.write(create(ProbeSchema, { number: 1 }));
    expect(await ended).toMatchObject({ code: Code.Canceled });
  });
});

describe("a client that leaves", () => {
  it("is not reported as a fault, but a fault while cleaning up is", async () => {
    const onInternalError = vi.fn();
    const fault = new TypeError("cleaning up went wrong");
    const reported = new Promise<void>((resolve) => {
      onInternalError.mockImplementation(() => resolve());
    });
    const client = await serve(
      {
        async *serverStream({ text }, { signal }) {
          yield {};
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
          throw text === "fault" ? fault : signal.reason;
        },
      },
      { onInternalError },
    );
    cancelAfter(client.serverStream({ text: "clean" }), 1);
    cancelAfter(client.serverStream({ text: "fault" }), 1);
    await reported;
    expect(onInternalError.mock.calls).toEqual([[ProbeService.method.serverStream, fault]]);
  });

  it("takes all its calls with it when its connection breaks", async () => {
    const reasons: unknown[] = [];
    let both: () => void = () => {};
    const done = new Promise<void>((resolve) => {
      both = resolve;
    });
    const client = await serve({
      async *serverStream(_, { signal }) {
        signal.addEventListener("abort", () => {
          if (reasons.push(signal.reason) === 2) both();
        });
        yield {};
        await done;
      },
    });
    const calls = [client.serverStream({}), client.serverStream({})];
    for (const call of calls) call.on("error", () => {});
    await Promise.all(calls.map((call) => once(call, "data")));
    client.close();
    for (const call of calls) call.cancel();
    await done;
    expect(reasons).toMatchObject([{ code: Code.Canceled }, { code: Code.Canceled }]);
  });
});

describe("shutdownSignal", () => {
  it("fires the signal of open and later calls, and leaves the end to the implementation", async () => {
    const shutdown = new AbortController();
    const client = await serve(
      {
        async *serverStream(_, { signal }) {
          yield { text: "open" };
          if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve));
          yield { text: String(signal.reason) };
        },
      },
      { shutdownSignal: shutdown.signal },
    );
    const texts: string[] = [];
    const open = client.serverStream({});
    open.on("data", ({ text }: Probe) => {
      if (texts.push(text) === 1) shutdown.abort("going down");
    });
    const [end] = (await once(open, "status")) as [{ code: number }];
    expect(end.code).toBe(status.OK);
    const later = client.serverStream({});
    later.on("data", ({ text }: Probe) => texts.push(text));
    await once(later, "status");
    expect(texts).toEqual(["open", "going down", "open", "going down"]);
  });
});
