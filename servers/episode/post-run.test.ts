import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { expect, describe as group, it } from "vitest";
import {
  Boundary,
  Delivery,
  FailureKind,
  Retry,
  RewardAuthority,
  Stage,
  StopMode,
  type TaskSchema,
} from "../../gen/index.js";
import { external } from "./drivers/external.js";
import { type RunInit, ServedEpisodes } from "./fixtures/served-episodes.js";

const row = {
  responses_create_params: { input: [{ role: "user", content: "What is 6 x 7?" }] },
  expected_answer: "42",
  uuid: "q1",
};

/** A service that plays a whole episode at `POST /run`, on a socket of its own. */
async function startService(
  answer: (request: IncomingMessage, response: ServerResponse, body: string) => void,
) {
  const seen: {
    readonly body: string;
    readonly headers: IncomingMessage["headers"];
    readonly url: string;
  }[] = [];
  let arrived: () => void = () => {};
  const arrival = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on("end", () => {
      seen.push({ body, headers: request.headers, url: `${request.method} ${request.url}` });
      arrived();
      answer(request, response, body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}/run`,
    seen,
    arrival,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Answers as NeMo Gym's agents do: what was asked, the model's response, and what verify measured. */
const answers =
  (measured: object) =>
  (_request: IncomingMessage, response: ServerResponse, body: string): void => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ ...JSON.parse(body), response: { output: [] }, ...measured }));
  };

const start = (url: string, more: object = {}, timeouts = {}) =>
  ServedEpisodes.start({ drivers: [external], driverOptions: { run: { url, ...more } }, timeouts });

const task = (change: Omit<MessageInitShape<typeof TaskSchema>, "$typeName"> = {}): RunInit => ({
  agents: [],
  source: {
    case: "task",
    value: {
      taskId: { id: "q1" },
      environment: "world",
      row: { data: Buffer.from(JSON.stringify(row)), mediaType: "application/json", rowSchema: "nemo" },
      ...change,
    },
  },
});

group("A service that plays an episode in one HTTP call (EPI-DRV-005)", () => {
  it("is posted the row as it is, and its reward is told to be external", async () => {
    await using service = await startService(answers({ reward: 0.25, reward_components: { style: 1 } }));
    await using episodes = await start(service.url, { headers: { authorization: "Bearer s3cret" } });
    const { verdict, outcome } = await episodes.run(task());
    expect(verdict).toMatchObject({
      reward: { value: 0.25 },
      components: { style: 1 },
      provenance: { authority: RewardAuthority.EXTERNAL },
    });
    expect(service.seen).toMatchObject([{ body: JSON.stringify(row), url: "POST /run" }]);
    expect(service.seen[0]?.headers).toMatchObject({
      "content-type": "application/json",
      authorization: "Bearer s3cret",
    });
    // Nothing of the answer is lost.
    const [kept] = outcome?.collected ?? [];
    expect(kept?.name).toBe("answer.json");
    const text = kept?.body.case === "inline" ? Buffer.from(kept.body.value).toString() : "";
    expect(JSON.parse(text)).toMatchObject({ reward: 0.25, response: { output: [] } });
    expect(outcome).toMatchObject({
      participants: [{ boundary: Boundary.EPISODE, binding: "external" }],
      cleanUps: [{ released: true }],
      training: { usable: false },
    });
    expect(outcome?.trajectory?.missingReason).not.toBe("");
    expect(JSON.stringify(outcome, (_k, v) => (typeof v === "bigint" ? `${v}` : v))).not.toContain("s3cret");
  });

  it("a measured 0 is one, and what it masks is masked", async () => {
    await using service = await startService(
      answers({ reward: 0, mask_sample: true, failure_kind: "judge_unavailable", failure_reason: "503" }),
    );
    await using episodes = await start(service.url);
    expect((await episodes.run(task())).verdict).toMatchObject({
      reward: { value: 0 },
      masked: { reason: "judge_unavailable", explanation: "503" },
    });
  });

  it("a task without a row is posted as its public data", async () => {
    await using service = await startService(answers({ reward: 1 }));
    await using episodes = await start(service.url);
    const { source } = task();
    if (source?.case !== "task") throw new Error("expected a whole task");
    const value = { taskId: { id: "q1" }, environment: "world", publicJson: '{"n":1}' };
    expect((await episodes.run({ agents: [], source: { case: "task", value } })).verdict).toBeDefined();
    expect(service.seen[0]?.body).toBe('{"n":1}');
  });
});

group("What is no score of such a service is a typed failure (R8)", () => {
  const raw = (text: string) => (_request: IncomingMessage, response: ServerResponse) =>
    void response.end(text);
  const status =
    (code: number, headers: Record<string, string> = {}) =>
    (_request: IncomingMessage, response: ServerResponse) =>
      void response.writeHead(code, headers).end("Traceback: /srv/app.py");
  const { PROTOCOL_VIOLATION, INVALID_REWARD, UNAVAILABLE, JUDGE_UNREACHABLE, VERIFIER_FAILED } = FailureKind;
  const wrong: Record<string, [Parameters<typeof startService>[0], FailureKind, Retry, RegExp]> = {
    "a reward that is not a number (field-case-029)": [
      raw('{"uuid":"q1","reward": NaN}'),
      INVALID_REWARD,
      Retry.NEVER,
      /NaN/,
    ],
    "an infinite one": [raw('{"reward": -Infinity}'), INVALID_REWARD, Retry.NEVER, /-Infinity/],
    "one beyond the range": [answers({ reward: 1.5 }), INVALID_REWARD, Retry.NEVER, /1\.5/],
    "a component that overflows": [
      raw('{"reward":1,"reward_components":{"a":1e999}}'),
      PROTOCOL_VIOLATION,
      Retry.NEVER,
      /reward_components/,
    ],
    "no reward": [answers({}), PROTOCOL_VIOLATION, Retry.NEVER, /reward/],
    "a null": [answers({ reward: null }), PROTOCOL_VIOLATION, Retry.NEVER, /reward/],
    "a reward as text": [answers({ reward: "1.0" }), PROTOCOL_VIOLATION, Retry.NEVER, /reward/],
    "no JSON": [raw("<html>"), PROTOCOL_VIOLATION, Retry.NEVER, /no JSON/],
    "no object": [raw("[1]"), PROTOCOL_VIOLATION, Retry.NEVER, /no JSON object/],
    nothing: [raw(""), PROTOCOL_VIOLATION, Retry.NEVER, /no JSON/],
    "another row's answer": [answers({ reward: 1, uuid: "q2" }), PROTOCOL_VIOLATION, Retry.NEVER, /uuid/],
    "a judge that failed (field-case-024)": [
      answers({ reward: 0, _ng_failure_class: "judge_failed" }),
      JUDGE_UNREACHABLE,
      Retry.NEW_ATTEMPT,
      /judge_failed/,
    ],
    "anything else that failed": [
      answers({ reward: 0, _ng_failure_class: "sandbox_lost" }),
      VERIFIER_FAILED,
      Retry.NEW_ATTEMPT,
      /sandbox_lost/,
    ],
    "a row that it refuses": [status(422), PROTOCOL_VIOLATION, Retry.NEVER, /422/],
    "a path that it does not have": [status(404), PROTOCOL_VIOLATION, Retry.NEVER, /404/],
    "a server in trouble": [status(500), UNAVAILABLE, Retry.NEW_ATTEMPT, /500/],
    "too many calls": [status(429, { "retry-after": "7" }), UNAVAILABLE, Retry.NEW_ATTEMPT, /429/],
    "a redirect": [status(307, { location: "http://127.0.0.1:1/" }), PROTOCOL_VIOLATION, Retry.NEVER, /307/],
    "an answer that is too large": [raw("x".repeat(3000)), PROTOCOL_VIOLATION, Retry.NEVER, /2000 bytes/],
  };
  for (const [name, [answer, kind, retry, reason]] of Object.entries(wrong)) {
    it(name, async () => {
      await using service = await startService(answer);
      await using episodes = await start(service.url, { minimum: 0, maximum: 1, max_answer_bytes: 2000 });
      const { failure, outcome, verdict } = await episodes.run(task());
      expect(verdict).toBeUndefined();
      expect(failure).toMatchObject({ kind, retry });
      expect(failure?.reason).toMatch(reason);
      // field-case-127: no words of the service's own errors.
      expect(failure?.reason).not.toContain("app.py");
      // It is asked once: the call has no name by which it could be asked again.
      expect(service.seen).toHaveLength(1);
      expect(outcome?.submission).toBeUndefined();
      if (name === "too many calls") expect(failure?.retryAfter?.seconds).toBe(7n);
    });
  }

  it("a connection that breaks may have delivered it, and is not made again (EPI-E6-003)", async () => {
    await using service = await startService((request) => request.socket.destroy());
    await using episodes = await start(service.url);
    const { failure, outcome } = await episodes.run(task());
    expect(failure).toMatchObject({
      kind: FailureKind.UNAVAILABLE,
      retry: Retry.NEW_ATTEMPT,
      stage: Stage.ACTIVATE,
      causes: [{ boundary: Boundary.EPISODE, delivery: Delivery.POSSIBLY_DELIVERED }],
    });
    expect(service.seen).toHaveLength(1);
    // It cannot be told to end: that is said.
    expect(outcome?.cleanUps).toMatchObject([{ released: false, failure: { stage: Stage.CLEAN_UP } }]);
  });

  it("an answer that breaks off is no answer", async () => {
    await using service = await startService((request, response) => {
      response.writeHead(200, { "content-length": "1000" });
      response.write('{"reward": 1');
      setImmediate(() => request.socket.destroy());
    });
    await using episodes = await start(service.url);
    expect((await episodes.run(task())).failure).toMatchObject({
      kind: FailureKind.UNAVAILABLE,
      causes: [{ delivery: Delivery.POSSIBLY_DELIVERED }],
    });
  });

  it("a service that is not there was told nothing", async () => {
    const service = await startService(() => {});
    await service[Symbol.asyncDispose]();
    await using episodes = await start(service.url);
    expect((await episodes.run(task())).failure).toMatchObject({
      kind: FailureKind.UNAVAILABLE,
      retry: Retry.NEW_ATTEMPT,
      causes: [{ delivery: Delivery.NOT_SENT }],
    });
  });

  it("a task without an object to post is told, and nothing is sent", async () => {
    await using service = await startService(answers({ reward: 1 }));
    await using episodes = await start(service.url);
    for (const [i, data] of ["[1]", "a,b"].entries()) {
      const change = {
        row: { data: Buffer.from(data), mediaType: "text/csv", rowSchema: "nemo" },
      };
      const context = { episodeId: { rolloutId: `r${i}` } };
      expect((await episodes.run({ ...task(change), context })).failure).toMatchObject({
        kind: FailureKind.PROTOCOL_VIOLATION,
        retry: Retry.NEVER,
      });
    }
    expect(service.seen).toEqual([]);
  });
});

group("A service that does not answer", () => {
  it("is out of time with the episode (EPI-E5-001, field-case-046)", async () => {
    await using service = await startService(() => {});
    await using episodes = await start(service.url, {}, { episodeMs: 5000 });
    const running = episodes.run(task());
    await service.arrival;
    await episodes.pass(5000);
    const { failure, outcome } = await running;
    expect(failure).toMatchObject({
      kind: FailureKind.TIMEOUT,
      retry: Retry.NEW_ATTEMPT,
      stage: Stage.ACTIVATE,
    });
    expect(failure?.reason).toContain("episode_timeout of 5000 ms");
    expect(outcome?.cleanUps).toMatchObject([{ released: false }]);
  });

  for (const mode of [StopMode.ABANDON, StopMode.FINISH]) {
    it(`is left at Stop ${StopMode[mode]}: CANCELLED, no score`, async () => {
      await using service = await startService(() => {});
      await using episodes = await start(service.url);
      const running = episodes.run(task());
      await service.arrival;
      await episodes.stop(mode, "enough");
      const { failure, outcome } = await running;
      expect(failure).toMatchObject({ kind: FailureKind.CANCELLED });
      expect(outcome?.stopReason).toBe("enough");
    });
  }
});
