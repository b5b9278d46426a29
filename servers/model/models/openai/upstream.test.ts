import { once } from "node:events";
import { createServer } from "node:net";
import { afterEach, describe, expect, it, vi } from "vitest";
import { Delivery, FailureKind, Retry } from "../../../../gen/index.js";
import { ManualClock } from "../../../../test/manual-clock.js";
import { completion, FakeOpenai, sendChunks, sendError, sendJson } from "../../fixtures/fake-openai.js";
import { ask, ServedModel, type ServedModelOptions, user } from "../../fixtures/served-model.js";
import { openai } from "./index.js";
import { openaiOptions } from "./options.js";

type Options = Parameters<typeof openai>[0];

afterEach(() => vi.unstubAllEnvs());

const half = { random: () => 0 };

function serveOver(
  fake: { readonly url: string },
  options: Partial<Options> = {},
  served: ServedModelOptions = {},
) {
  const clock = served.clock === undefined ? {} : { clock: served.clock };
  return ServedModel.start(
    openai({ base_url: fake.url, model: "m", ...options }, { ...half, ...clock }),
    served,
  );
}

/** Lets the clock run for as long as something waits for it. */
async function runClock(clock: ManualClock, done: Promise<unknown>): Promise<void> {
  let over = false;
  void done.then(() => {
    over = true;
  });
  while (!over) {
    if (clock.timers > 0) clock.advance(10);
    await new Promise(setImmediate);
  }
}

describe("field-case-40: an upstream that turns calls away", () => {
  it("is asked at most max_attempts times; the failure tells them and the last cause", async () => {
    const clock = new ManualClock();
    await using fake = await FakeOpenai.start((_request, response) => sendError(response, 503));
    await using served = await serveOver(fake, { max_attempts: 4 }, { clock });
    const call = served.generate(ask([user("x")]));
    await runClock(clock, call);
    const { error } = await call;
    expect(fake.requests).toHaveLength(4);
    expect(error).toMatchObject({
      code: "ABORTED",
      reason: "OPERATION_FAILED",
      failure: { kind: FailureKind.MODEL_UNAVAILABLE, retry: Retry.NEW_ATTEMPT },
    });
    expect(error?.failure?.reason).toMatch(/^the upstream failed \(503\): 4 attempts in \d+ ms$/);
    expect(JSON.parse(error?.failure?.detailsJson ?? "{}")).toMatchObject({ attempts: 4, status: 503 });
    expect(error?.failure?.causes).toMatchObject([{ delivery: Delivery.DELIVERED }]);
  });

  it("is not asked again beyond the time, and fails at once when Retry-After lies beyond it", async () => {
    await using fake = await FakeOpenai.start((_request, response) =>
      sendError(response, 429, {}, { "retry-after": "30" }),
    );
    await using served = await serveOver(fake, { retry_timeout_ms: 10_000 });
    const { error } = await served.generate(ask([user("x")]));
    expect(fake.requests).toHaveLength(1);
    expect(error).toMatchObject({
      code: "RESOURCE_EXHAUSTED",
      reason: "RATE_LIMITED",
      failure: undefined,
      retryAfterMs: 30_000,
    });
    expect(error?.message).toContain("another one in 30000 ms would be beyond the bound of 10000 ms");
    // The caller's own deadline is such a bound as well.
    await using patient = await serveOver(fake);
    const late = await patient.generate(ask([user("x")]), { deadlineMs: 5000 });
    expect(late.error?.reason).toBe("RATE_LIMITED");
    expect(fake.requests).toHaveLength(2);
  });

  it("is obeyed: the next try comes when it says", async () => {
    const clock = new ManualClock();
    await using fake = await FakeOpenai.start((_request, response, number) =>
      number === 0
        ? sendError(response, 429, {}, { "retry-after": "2" })
        : sendJson(response, completion({ content: "ok" })),
    );
    await using served = await serveOver(fake, {}, { clock });
    const call = served.answer(ask([user("x")]));
    while (clock.timers === 0) await new Promise(setImmediate);
    clock.advance(1999);
    await new Promise(setImmediate);
    expect(fake.requests).toHaveLength(1);
    clock.advance(1);
    await call;
    expect(fake.requests).toHaveLength(2);
  });
});

describe("an upstream that cannot be reached", () => {
  it("is tried again, and the failure says that nothing was sent (ALL-FAIL-015)", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/v1`;
    server.close();
    await once(server, "close");
    const clock = new ManualClock();
    await using served = await serveOver({ url }, { max_attempts: 3 }, { clock });
    const call = served.generate(ask([user("x")]));
    await runClock(clock, call);
    const failure = (await call).error?.failure;
    expect(failure).toMatchObject({ kind: FailureKind.MODEL_UNAVAILABLE, retry: Retry.NEW_ATTEMPT });
    expect(failure?.reason).toMatch(/^the upstream could not be reached: 3 attempts/);
    expect(failure?.causes).toMatchObject([{ delivery: Delivery.NOT_SENT }]);
  });
});

describe("an upstream that breaks", () => {
  it.each([
    ["before it answers", false, Delivery.POSSIBLY_DELIVERED, /broke before it answered/],
    ["in the middle of its answer", true, Delivery.DELIVERED, /before its answer was whole/],
  ])(
    "%s is never asked again, and the failure tells the delivery",
    async (_when, begins, delivery, reason) => {
      await using fake = await FakeOpenai.start((_request, response) => {
        if (begins) {
          response.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
          response.write('{"choices":');
        }
        response.socket?.end();
        response.socket?.destroySoon();
      });
      await using served = await serveOver(fake);
      const { error } = await served.generate(ask([user("x")]));
      expect(fake.requests).toHaveLength(1);
      expect(error?.failure).toMatchObject({
        kind: FailureKind.MODEL_UNAVAILABLE,
        retry: Retry.NEW_ATTEMPT,
        causes: [{ delivery }],
      });
      expect(error?.failure?.reason).toMatch(reason);
    },
  );

  it("in the middle of a stream, by an end or by an error, is a failure and no short answer", async () => {
    const piece = { choices: [{ index: 0, delta: { role: "assistant", content: "half" } }] };
    await using fake = await FakeOpenai.start((_request, response, number) =>
      sendChunks(
        response,
        number === 0 ? [piece] : [piece, { error: { message: "x", code: "engine_dead" } }],
      ),
    );
    await using served = await serveOver(fake);
    const ended = await served.stream(ask([user("x")]));
    expect(ended.error?.failure).toMatchObject({ kind: FailureKind.MODEL_UNAVAILABLE });
    expect(ended.messages.map(({ event }) => event.case)).toEqual(["started", "delta"]);
    const failed = await served.stream(ask([user("x")]));
    expect(failed.error?.failure?.reason).toContain("in the middle of its answer, engine_dead");
  });

  it.each([
    ["text that is no JSON", "<html>", FailureKind.MODEL_INVALID_OUTPUT, Retry.NEW_ATTEMPT, /is no JSON/],
    [
      "an answer without usage",
      JSON.stringify(completion({ content: "x" }, { usage: undefined })),
      FailureKind.MODEL_INVALID_OUTPUT,
      Retry.NEW_ATTEMPT,
      /usage: .*expected object/,
    ],
    [
      "arguments that are no text",
      JSON.stringify(
        completion({ tool_calls: [{ id: "a", type: "function", function: { name: "t", arguments: {} } }] }),
      ),
      FailureKind.MODEL_INVALID_OUTPUT,
      Retry.NEW_ATTEMPT,
      /choices\.0\.message\.tool_calls\.0\.function\.arguments: .*expected string, received object/,
    ],
    [
      "a finish that nobody knows",
      JSON.stringify(
        completion({ content: "x" }, { choices: [{ message: { content: "x" }, finish_reason: "tired" }] }),
      ),
      FailureKind.MODEL_INVALID_OUTPUT,
      Retry.NEW_ATTEMPT,
      /finish_reason is none/,
    ],
  ])("with %s is invalid output", async (_what, text, kind, retry, reason) => {
    await using fake = await FakeOpenai.start((_request, response) => sendJson(response, text));
    await using served = await serveOver(fake);
    const { error } = await served.generate(ask([user("x")]));
    expect(error?.failure).toMatchObject({ kind, retry });
    expect(error?.failure?.reason).toMatch(reason);
    expect(fake.requests).toHaveLength(1);
  });

  it.each([
    [500, Retry.NEW_ATTEMPT, "the upstream failed (500)"],
    [401, Retry.NEVER, "the upstream did not accept the credential (401, invalid_api_key)"],
    [404, Retry.NEVER, "the upstream knows no such model or path (404, invalid_api_key)"],
    [400, Retry.NEVER, "the upstream refused the request (400, invalid_api_key)"],
  ])(
    "with status %i is asked once; what it says is not passed on (field-case-130)",
    async (status, retry, reason) => {
      await using fake = await FakeOpenai.start(({ headers }, response) =>
        sendError(response, status, {
          message: `Incorrect API key provided: ${headers.authorization}`,
          ...(status === 500 ? {} : { code: "invalid_api_key" }),
        }),
      );
      await using served = await serveOver(fake, { api_key: "S3CRET", headers: { "x-extra": "HIDD3N" } });
      const { error } = await served.generate(ask([user("x")]));
      expect(fake.requests).toHaveLength(1);
      expect(error?.failure).toMatchObject({ kind: FailureKind.MODEL_UNAVAILABLE, retry });
      expect(error?.failure?.reason).toContain(reason);
      expect(JSON.stringify(error, (_n, v) => (typeof v === "bigint" ? `${v}` : v))).not.toMatch(
        /S3CRET|HIDD3N/,
      );
      expect(fake.requests[0]?.headers).toMatchObject({
        authorization: "Bearer S3CRET",
        "x-extra": "HIDD3N",
      });
    },
  );
});

describe("a caller that leaves", () => {
  it("ends the upstream's work, before and in the middle of an answer (MDL-GEN-012)", async () => {
    await using fake = await FakeOpenai.start((_request, response, number) => {
      if (number === 1) {
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: "and" } }] })}\n\n`);
      }
    });
    await using served = await serveOver(fake);
    let cancel: () => void = () => {};
    const onCall = (call: { cancel(): void }) => {
      cancel = () => call.cancel();
    };
    const unary = served.generate(ask([user("x")]), { onCall });
    await fake.until(({ requests }) => requests.length === 1);
    cancel();
    await fake.until(({ left }) => left === 1);
    expect((await unary).error?.code).toBe("CANCELLED");
    const streamed = served.stream(ask([user("x")]), {
      onCall,
      onMessage: ({ event }) => {
        if (event.case === "delta") cancel();
      },
    });
    await fake.until(({ left }) => left === 2);
    expect((await streamed).error?.code).toBe("CANCELLED");
  });

  it("while it waits for another try ends the wait", async () => {
    const clock = new ManualClock();
    await using fake = await FakeOpenai.start((_request, response) => sendError(response, 503));
    await using served = await serveOver(fake, {}, { clock });
    let cancel: () => void = () => {};
    const call = served.generate(ask([user("x")]), {
      onCall: (made) => {
        cancel = () => made.cancel();
      },
    });
    while (clock.timers === 0) await new Promise(setImmediate);
    cancel();
    expect((await call).error?.code).toBe("CANCELLED");
    while (clock.timers > 0) await new Promise(setImmediate);
    expect(fake.requests).toHaveLength(1);
  });
});

describe("field-case-65: an upstream with two places", () => {
  it("sees two calls at once and turns none away", async () => {
    let inFlight = 0;
    let turnedAway = 0;
    await using fake = await FakeOpenai.start(async (_request, response, number) => {
      inFlight += 1;
      if (inFlight > 2) turnedAway += 1;
      // Every other one is held until the next is there as well.
      if (number % 2 === 0) await fake.until(({ requests }) => requests.length > number + 1);
      inFlight -= 1;
      sendJson(response, completion({ content: "ok" }));
    });
    await using served = await serveOver(fake, {}, { maxConcurrentCalls: 2, queueTimeoutMs: 60_000 });
    await Promise.all(
      Array.from({ length: 20 }, async () => {
        for (let turn = 0; turn < 3; turn += 1) await served.answer(ask([user("x")]));
      }),
    );
    expect([fake.requests.length, fake.peak, turnedAway]).toEqual([60, 2, 0]);
  });
});

describe("field-case-113: the environment of the process", () => {
  it("is not where credentials come from", async () => {
    vi.stubEnv("OPENAI_API_KEY", "ENV-KEY");
    vi.stubEnv("OPENAI_ORG_ID", "ENV-ORG");
    vi.stubEnv("OPENAI_PROJECT_ID", "ENV-PROJECT");
    vi.stubEnv("OPENAI_ADMIN_KEY", "ENV-ADMIN");
    vi.stubEnv("OPENAI_CUSTOM_HEADERS", "x-env: ENV-HEADER");
    vi.stubEnv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1");
    vi.stubEnv("OPENAI_LOG", "debug");
    await using fake = await FakeOpenai.start((_request, response) =>
      sendJson(response, completion({ content: "ok" })),
    );
    await using served = await serveOver(fake);
    await served.answer(ask([user("x")]));
    expect(JSON.stringify(fake.requests[0])).not.toContain("ENV-");
    expect(fake.requests[0]?.headers).not.toHaveProperty("authorization");
  });
});

describe("options", () => {
  const problem = (options: Record<string, unknown>) => {
    const parsed = openaiOptions.safeParse({ base_url: "https://h/v1", model: "m", ...options });
    return parsed.success
      ? undefined
      : parsed.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`).join();
  };

  it("field-case-136: credentials go over https, or over http to this machine, unless it is said otherwise", () => {
    expect(problem({ base_url: "http://far.example/v1", api_key: "S3CRET" })).toMatch(
      /^base_url: expected https/,
    );
    expect(problem({ base_url: "http://far.example/v1", api_key: "S3CRET" })).not.toContain("S3CRET");
    expect(problem({ base_url: "http://far.example/v1", headers: { a: "b" } })).toMatch(
      /^base_url: expected https/,
    );
    expect(problem({ base_url: "http://far.example/v1" })).toBeUndefined();
    expect(problem({ base_url: "http://127.0.0.1:8000/v1", api_key: "k" })).toBeUndefined();
    expect(problem({ base_url: "http://far.example/v1", api_key: "k", clear_text: true })).toBeUndefined();
    expect(problem({ base_url: "https://u:p4ss@h/v1" })).toMatch(/no user and password/);
    expect(problem({ base_url: "ftp://h/v1" })).toMatch(/^base_url/);
  });

  it("are refused where they do not go together or are unknown", () => {
    expect(problem({ api: "responses", token_ids: true })).toMatch(/^token_ids: expected false/);
    expect(problem({ max_retries: 3 })).toMatch(/max_retries/);
    expect(problem({ api_key: "" })).toMatch(/^api_key/);
  });
});
