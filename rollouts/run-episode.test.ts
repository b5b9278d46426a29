import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { refusal, status } from "../clients/fixtures/grpc-server.js";
import {
  type EpisodeOutcomeSchema,
  FailureKind,
  ResourceKind,
  Retry,
  RunRequestSchema,
  Stage,
  StopMode,
} from "../gen/index.js";
import type { Clock } from "../servers/runtime/clock.js";
import { ManualClock } from "../test/manual-clock.js";
import { planned } from "./fixtures/attempts.js";
import { ImpatientClock } from "./fixtures/impatient-clock.js";
import { failed, type Script, scored, scriptedDriver } from "./fixtures/scripted-driver.js";
import type { AttemptResult } from "./rollout-record.js";
import { type EpisodeEnd, type EpisodeNext, runEpisode } from "./run-episode.js";

interface Played {
  readonly end: EpisodeEnd;
  readonly results: readonly AttemptResult[];
  readonly next: readonly EpisodeNext[];
  readonly requests: Awaited<ReturnType<typeof scriptedDriver>>["requests"];
}

interface How {
  readonly attempts?: number;
  readonly firstAttempt?: number;
  readonly maxRetryMs?: number;
  readonly clock?: Clock;
  readonly stop?: AbortSignal;
  readonly abandon?: AbortSignal;
}

/** Plays one episode against a script. */
async function play(script: Script, how: How = {}): Promise<Played> {
  await using driver = await scriptedDriver(script);
  const [episode] = planned(1);
  if (episode === undefined) throw new Error("no plan");
  const results: AttemptResult[] = [];
  const next: EpisodeNext[] = [];
  const end = await runEpisode(episode, {
    client: driver.client,
    clock: how.clock ?? new ImpatientClock(),
    request: create(RunRequestSchema, { environment: "e", agents: [{ agentId: "agent", agent: "a" }] }),
    attempts: how.attempts ?? 3,
    firstAttempt: how.firstAttempt ?? 0,
    maxRetryMs: how.maxRetryMs ?? 30_000,
    stop: how.stop ?? new AbortController().signal,
    abandon: how.abandon ?? new AbortController().signal,
    abandonMs: 1000,
    onAttempt: () => {},
    onEnd(result, follows) {
      results.push(result);
      next.push(follows);
    },
  });
  return { end, results, next, requests: driver.requests };
}

it("ends with the first verdict", async () => {
  const { end, results, requests } = await play({ run: (_request, told) => told.outcome(scored(0.5)) });
  expect(end).toEqual({ next: "verdict", infrastructure: false });
  expect(results[0]?.trajectory).toEqual([{ sequence: "1", agentId: "agent" }]);
  expect(requests[0]).toMatchObject({
    context: { episodeId: { rolloutId: expect.stringMatching(/^run1\./), attempt: 0 } },
    source: { case: "task", value: { taskId: { id: "1" } } },
  });
});

it("field-case-040: tries no more often than allowed, waits longer each time, and keeps the last cause", async () => {
  const clock = new ImpatientClock();
  const { end, next, results, requests } = await play(
    { run: (_request, told) => told.outcome(failed({ kind: FailureKind.MODEL_UNAVAILABLE, reason: "503" })) },
    { attempts: 4, clock },
  );
  expect(end).toEqual({ next: "exhausted", infrastructure: true });
  expect(next).toEqual(["retry", "retry", "retry", "exhausted"]);
  expect(requests.map(({ context }) => context?.episodeId?.attempt)).toEqual([0, 1, 2, 3]);
  expect(results.at(-1)?.failure).toMatchObject({ kind: FailureKind.MODEL_UNAVAILABLE, reason: "503" });
  expect(clock.waits).toEqual([250, 500, 1000]);
});

it("waits no longer before another attempt than it is told, where the failure asks for nothing", async () => {
  const clock = new ImpatientClock();
  const down = failed({ kind: FailureKind.UNAVAILABLE });
  const { next } = await play(
    { run: (_request, told) => told.outcome(down) },
    { attempts: 5, clock, maxRetryMs: 600 },
  );
  expect(next.at(-1)).toBe("exhausted");
  expect(clock.waits).toEqual([250, 500, 600, 600]);
});

it("field-case-040: waits as long as a failure asks, and gives up where that is too long", async () => {
  const clock = new ImpatientClock();
  const after = (seconds: number) => failed({ retryAfter: { seconds: BigInt(seconds), nanos: 0 } });
  const asked = await play({ run: (_request, told) => told.outcome(after(30)) }, { attempts: 2, clock });
  expect([asked.end.next, clock.waits]).toEqual(["exhausted", [30_000]]);
  const tooLong = await play({ run: (_request, told) => told.outcome(after(3600)) }, { attempts: 4 });
  expect([tooLong.end.next, tooLong.requests.length]).toEqual(["exhausted", 1]);
});

it("field-case-042: reads only `retry`: kinds that it does not know are kept", async () => {
  const unknown = { kind: FailureKind.CUSTOM, customKind: "acme:disk_on_fire" };
  const never = await play({
    run: (_request, told) => told.outcome(failed({ ...unknown, retry: Retry.NEVER })),
  });
  expect([never.end.next, never.requests.length]).toEqual(["failed", 1]);
  expect(never.results[0]?.failure?.customKind).toBe("acme:disk_on_fire");
  const again = await play({ run: (_request, told) => told.outcome(failed({ kind: 777 as FailureKind })) });
  expect([again.end.next, again.requests.length]).toEqual(["exhausted", 3]);
});

it("blames an agent that takes too long for itself alone", async () => {
  const slow = { kind: FailureKind.TIMEOUT, stage: Stage.ACTIVATE };
  expect((await play({ run: (_request, told) => told.outcome(failed(slow)) })).end).toEqual({
    next: "exhausted",
    infrastructure: false,
  });
});

it("hands what an attempt left behind to the next one", async () => {
  const intent = (id: string) => ({
    kind: ResourceKind.ENVIRONMENT_SESSION,
    binding: "e",
    id,
    episodeId: { rolloutId: "r", attempt: 0 },
  });
  const { requests } = await play({
    run(request, told) {
      if (request.context?.episodeId?.attempt !== 0) return told.outcome(scored(1));
      told.event({ case: "resourceIntent", value: intent("kept") });
      told.event({ case: "resourceIntent", value: intent("gone") });
      told.event({ case: "resourceReleased", value: { id: "gone" } });
      told.outcome(failed());
    },
  });
  expect(requests[1]?.unreleased).toMatchObject([{ id: "kept" }]);
});

it("hands over and records what clean_ups tell as left, until one of them tells that it is released", async () => {
  const resource = (id: string, kind = ResourceKind.ENVIRONMENT_SESSION) => ({
    kind,
    binding: "e",
    id,
    episodeId: { rolloutId: "r", attempt: 0 },
  });
  const { requests, results } = await play({
    run(request, told) {
      switch (request.context?.episodeId?.attempt) {
        case 0:
          told.event({ case: "resourceIntent", value: resource("a") });
          told.event({ case: "resourceIntent", value: resource("a", ResourceKind.GATEWAY) });
          told.event({ case: "resourceReleased", value: resource("a", ResourceKind.GATEWAY) });
          return told.outcome({ ...failed(), cleanUps: [{ resource: resource("b"), released: false }] });
        case 1:
          // One that tells nothing of what it was handed.
          return told.outcome(failed());
        default:
          return told.outcome({ ...scored(1), cleanUps: [{ resource: resource("a"), released: true }] });
      }
    },
  });
  const handed = requests.map(({ unreleased }) => unreleased.map(({ kind, id }) => [ResourceKind[kind], id]));
  const both = ["a", "b"].map((id) => ["ENVIRONMENT_SESSION", id]);
  expect(handed).toEqual([[], both, both]);
  expect(results.map(({ unreleased }) => unreleased.map(({ id }) => id))).toEqual([
    ["a", "b"],
    ["a", "b"],
    ["b"],
  ]);
});

it("goes on with the number of the attempt behind the last one", async () => {
  const { requests } = await play(
    { run: (_request, told) => told.outcome(failed()) },
    { firstAttempt: 5, attempts: 2 },
  );
  expect(requests.map(({ context }) => context?.episodeId?.attempt)).toEqual([5, 6]);
});

it.each<readonly [string, MessageInitShape<typeof EpisodeOutcomeSchema>, FailureKind]>([
  ["a reward that is no number", scored(Number.NaN), FailureKind.INVALID_REWARD],
  ["an endless reward", scored(Number.POSITIVE_INFINITY), FailureKind.INVALID_REWARD],
  ["neither verdict nor failure", {}, FailureKind.PROTOCOL_VIOLATION],
  [
    "what has no JSON",
    { ...scored(1), timings: { seed: { seconds: 10n ** 15n, nanos: 0 } } },
    FailureKind.PROTOCOL_VIOLATION,
  ],
])("takes %s for a failure that no attempt cures", async (_what, outcome, kind) => {
  const { end, results } = await play({ run: (_request, told) => told.outcome(outcome) });
  expect(end.next).toBe("failed");
  expect(results[0]?.failure).toMatchObject({ kind, retry: Retry.NEVER });
});

it("field-case-095: a stream that just ends is a lost driver, never a result", async () => {
  const { end, results } = await play({ run: (_request, told) => told.end() });
  expect(end).toEqual({ next: "exhausted", infrastructure: true });
  expect(results).toHaveLength(3);
  expect(results[0]?.failure).toMatchObject({
    kind: FailureKind.UNAVAILABLE,
    retry: Retry.NEW_ATTEMPT,
    reason: expect.stringContaining("expected the stream's terminal event, found its end"),
  });
});

it("files a driver without a place as a wait for admission, and a refused request as its check", async () => {
  const full = await play({
    run: (_request, told) => told.status(refusal(8, "ADMISSION_TIMEOUT", { retryAfterMs: 120_000 })),
  });
  expect(full.end.next).toBe("exhausted");
  expect(full.results[0]?.failure).toMatchObject({ kind: FailureKind.UNAVAILABLE, stage: Stage.ADMISSION });
  const refused = await play({ run: (_request, told) => told.status(refusal(5, "NAME_UNKNOWN")) });
  expect(refused.end.next).toBe("failed");
  expect(refused.results[0]?.failure).toMatchObject({ stage: Stage.CHECK, retry: Retry.NEVER });
});

it("keeps a verdict whose trajectory cannot be read", async () => {
  const { end, results } = await play({
    run: (_request, told) => told.outcome(scored(1)),
    trajectory: status(13, "the records are gone"),
  });
  expect(end.next).toBe("verdict");
  expect(results[0]).toMatchObject({
    trajectory: [],
    trajectoryMissing: "could not be read: the records are gone",
  });
});

it("field-case-100: begins nothing once it is stopped, and no further attempt", async () => {
  const before = await play(
    { run: (_request, told) => told.outcome(scored(1)) },
    { stop: AbortSignal.abort() },
  );
  expect([before.end.next, before.requests.length]).toEqual(["stopped", 0]);
  const stop = new AbortController();
  const during = await play(
    {
      run(_request, told) {
        stop.abort();
        told.outcome(failed());
      },
    },
    { stop: stop.signal },
  );
  expect(during.next).toEqual(["stopped"]);
});

it("field-case-100: gives up an episode that hangs, with the reason", async () => {
  const abandon = new AbortController();
  let hanging: (() => void) | undefined;
  const { end, results } = await play(
    {
      run(_request, told) {
        hanging = () => told.outcome(failed({ kind: FailureKind.CANCELLED, reason: "stopped" }));
        abandon.abort("the run was stopped at once");
      },
      stop({ mode, reason }) {
        expect([mode, reason]).toEqual([StopMode.ABANDON, "the run was stopped at once"]);
        hanging?.();
      },
    },
    { stop: AbortSignal.any([abandon.signal]), abandon: abandon.signal, clock: new ManualClock() },
  );
  expect(end.next).toBe("stopped");
  expect(results[0]?.failure).toMatchObject({ kind: FailureKind.CANCELLED, reason: "stopped" });
});

it.each([
  ["does not know the episode", undefined],
  ["never answers", () => {}],
])("gives up on a driver that %s", async (_what, stop) => {
  const abandon = new AbortController();
  const clock = new ManualClock();
  const { end, results } = await play(
    {
      run: () => abandon.abort("the run was stopped at once"),
      ...(stop === undefined
        ? {}
        : {
            stop() {
              // Its clean-up takes longer than it may.
              setImmediate(() => clock.advance(1000));
            },
          }),
    },
    { stop: abandon.signal, abandon: abandon.signal, clock },
  );
  expect(end.next).toBe("stopped");
  expect(results[0]?.failure).toMatchObject({
    kind: FailureKind.CANCELLED,
    retry: Retry.NEW_ATTEMPT,
    reason: "given up without an outcome of the episode server: the run was stopped at once",
  });
});
