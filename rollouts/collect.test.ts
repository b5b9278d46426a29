import { existsSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { pino } from "pino";
import { expect, it } from "vitest";
import { FailureKind, Retry, type RunRequest, RunRequestSchema, StepRecordSchema } from "../gen/index.js";
import type { Clock } from "../servers/runtime/clock.js";
import { ManualClock } from "../test/manual-clock.js";
import { temporaryFolder } from "../test/temporary-folder.js";
import { collect, type RunProgress } from "./collect.js";
import { embeddedQueue } from "./episode-queue.js";
import { planned } from "./fixtures/attempts.js";
import { ImpatientClock } from "./fixtures/impatient-clock.js";
import {
  failed,
  type Script,
  type ScriptedDriver,
  scored,
  scriptedDriver,
} from "./fixtures/scripted-driver.js";
import { computeMetrics, type Metrics } from "./metrics/metrics.js";
import { summariseRun } from "./metrics/summaries.js";
import type { PlannedEpisode } from "./plan.js";
import { RolloutStore } from "./rollout-store.js";
import type { TakenStep } from "./run-attempt.js";
import { runFiles } from "./run-folder.js";
import type { RunSettings } from "./run-settings.js";

interface How {
  readonly folder?: string;
  readonly clock?: Clock;
  readonly concurrency?: number;
  readonly attempts?: number;
  readonly breaker?: number;
  readonly stop?: AbortSignal;
  readonly abandon?: AbortSignal;
  readonly onProgress?: (progress: RunProgress) => void;
}

interface Collected {
  readonly folder: string;
  readonly stopped: string | undefined;
  readonly metrics: Metrics;
  readonly driver: ScriptedDriver;
  readonly progress: readonly RunProgress[];
  readonly steps: readonly TakenStep[];
}

/** The place of a task in the plan, from 1. */
const numberOf = ({ source }: RunRequest): number =>
  source.case === "task" ? Number(source.value.taskId?.id) : 0;

/** Collects a plan from a scripted driver into a folder, or what is left of it. */
async function collectFrom(
  script: Script,
  episodes: readonly PlannedEpisode[],
  how: How = {},
): Promise<Collected> {
  const folder = how.folder ?? temporaryFolder();
  const clock = how.clock ?? new ImpatientClock();
  const store = new RolloutStore({ folder, clock, log: pino({ level: "silent" }) });
  store.begin({ runId: "run1", identity: "{}", rolloutIds: episodes.map(({ rolloutId }) => rolloutId) });
  await using driver = await scriptedDriver(script);
  const progress: RunProgress[] = [];
  const steps: TakenStep[] = [];
  const stopped = await collect({
    plan: { runId: "run1", episodes, groups: episodes.length },
    store,
    queue: embeddedQueue,
    client: driver.client,
    clock,
    request: create(RunRequestSchema, { environment: "e", agents: [{ agentId: "agent", agent: "a" }] }),
    settings: {
      breaker: how.breaker ?? 10,
      attempts: how.attempts ?? 1,
      max_retry_delay: 30_000,
      drain_timeout: 5000,
    } as RunSettings,
    concurrency: how.concurrency ?? 4,
    abandonMs: 1000,
    stop: how.stop ?? new AbortController().signal,
    abandon: how.abandon ?? new AbortController().signal,
    onProgress(now) {
      progress.push(now);
      how.onProgress?.(now);
    },
    onStep: (step) => steps.push(step),
  });
  const begun = [...store.rows().values()].filter(({ attempts }) => attempts > 0).length;
  await store.close();
  const metrics = computeMetrics(summariseRun(folder), {
    episodes: episodes.length,
    groups: episodes.length,
    begun,
  });
  return { folder, stopped, metrics, driver, progress, steps };
}

const rewards = (folder: string): Record<string, number> =>
  Object.fromEntries(
    readFileSync(join(folder, runFiles.rollouts), "utf8")
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line))
      .map(({ task, reward }) => [task.id, reward]),
  );

it("field-case-038: failures of two episodes touch none of the other six", async () => {
  const { stopped, metrics, driver } = await collectFrom(
    {
      run(request, told) {
        if (numberOf(request) === 3) return told.outcome(failed({ kind: FailureKind.SANDBOX_LOST }));
        if (numberOf(request) === 5)
          return told.outcome(failed({ kind: FailureKind.INTERNAL, retry: Retry.NEVER }));
        told.outcome(scored(1));
      },
    },
    planned(8),
    { concurrency: 8 },
  );
  expect(stopped).toBeUndefined();
  expect(metrics.coverage).toMatchObject({ expected: 8, scored: 6, failed: 2 });
  expect(metrics.failures.by_kind).toEqual({ sandbox_lost: 1, internal: 1 });
  expect(driver.requests).toHaveLength(8);
});

it("field-case-096: each reward is on its own row, whatever the order in which episodes end", async () => {
  const held: (() => void)[] = [];
  const { folder, progress } = await collectFrom(
    {
      run(request, told) {
        held.unshift(() => told.outcome(scored(numberOf(request) / 10)));
        // All four are on their way: they end in the reverse order.
        if (held.length === 4) for (const end of held) end();
      },
    },
    planned(4),
  );
  expect(rewards(folder)).toEqual({ 1: 0.1, 2: 0.2, 3: 0.3, 4: 0.4 });
  expect(progress.at(-1)).toMatchObject({
    done: 4,
    total: 4,
    scored: 4,
    failed: 0,
    rewardSum: expect.closeTo(1),
  });
});

it("acknowledges what is stored, verdicts and failures", async () => {
  const { driver } = await collectFrom(
    { run: (request, told) => told.outcome(numberOf(request) === 1 ? failed() : scored(1)) },
    planned(3),
  );
  expect(driver.server.calls.filter((call) => call === "Ack")).toHaveLength(3);
});

it("stops when episodes in a row used up their attempts on infrastructure, and only then", async () => {
  const gone = await collectFrom({ run: (_request, told) => told.outcome(failed()) }, planned(20), {
    breaker: 3,
    attempts: 2,
    concurrency: 1,
  });
  expect(gone.stopped).toBe("3 episodes in a row used up their attempts on infrastructure");
  expect(gone.metrics.coverage).toMatchObject({ failed: 3, not_begun: 17 });
  expect(gone.driver.requests).toHaveLength(6);
  // Attempts that fail do not count, nor episodes with a verdict between.
  const flaky = await collectFrom(
    {
      run(request, told) {
        const { attempt = 0 } = request.context?.episodeId ?? {};
        told.outcome(attempt === 1 && numberOf(request) % 3 === 0 ? scored(1) : failed());
      },
    },
    planned(9),
    { breaker: 3, attempts: 2, concurrency: 1 },
  );
  expect(flaky.stopped).toBeUndefined();
  expect(flaky.metrics.coverage).toMatchObject({ scored: 3, failed: 6 });
  const slow = { kind: FailureKind.TIMEOUT, stage: 6 };
  const agents = await collectFrom({ run: (_request, told) => told.outcome(failed(slow)) }, planned(9), {
    breaker: 3,
  });
  expect(agents.stopped).toBeUndefined();
});

it("field-case-100: a stop lets two end, gives up the one that hangs, and leaves two for later", async () => {
  const stop = new AbortController();
  const clock = new ManualClock();
  const told = new Map<number, () => void>();
  const stopReasons: string[] = [];
  const first = await collectFrom(
    {
      run(request, say) {
        const number = numberOf(request);
        told.set(number, () =>
          say.outcome(number === 2 ? failed({ kind: FailureKind.CANCELLED, reason: "given up" }) : scored(1)),
        );
        if (told.size < 3) return;
        stop.abort();
        told.get(1)?.();
        told.get(3)?.();
      },
      stop({ reason }) {
        stopReasons.push(reason);
        told.get(2)?.();
      },
    },
    planned(5),
    {
      concurrency: 3,
      clock,
      stop: stop.signal,
      // The drain bound passes once the two that may end have landed.
      onProgress({ done }) {
        if (done === 2) clock.advance(5000);
      },
    },
  );
  expect(first.stopped).toBe("it was asked to");
  expect(first.driver.requests).toHaveLength(3);
  expect(first.metrics.coverage).toMatchObject({
    expected: 5,
    scored: 2,
    failed: 0,
    unfinished: 1,
    not_begun: 2,
  });
  expect(stopReasons).toEqual(["the run was stopped, and the episode did not end within 5000 ms"]);
  const failures = readFileSync(join(first.folder, runFiles.failures), "utf8");
  expect(JSON.parse(failures)).toMatchObject({
    task: { id: "2" },
    final: false,
    failure: { reason: "given up" },
  });
  // A resumed run begins exactly those three.
  const resumed = await collectFrom({ run: (_request, say) => say.outcome(scored(1)) }, planned(5), {
    folder: first.folder,
  });
  expect(resumed.driver.requests.map(numberOf).sort()).toEqual([2, 4, 5]);
  expect(resumed.driver.requests.map(({ context }) => context?.episodeId?.attempt).sort()).toEqual([0, 0, 1]);
  expect(resumed.metrics.coverage).toMatchObject({ scored: 5, unfinished: 0, not_begun: 0 });
  const again = await collectFrom({ run: (_request, say) => say.outcome(scored(1)) }, planned(5), {
    folder: first.folder,
  });
  expect(again.driver.requests).toEqual([]);
});

it("tells each step as it is taken, of every attempt, before the verdict", async () => {
  const step = (stepIndex: number, value?: number) => ({
    case: "step" as const,
    value: create(StepRecordSchema, {
      response: {
        stepIndex,
        outcomes: [{ agentId: "agent", ...(value === undefined ? {} : { reward: { value } }) }],
      },
    }),
  });
  const { steps, metrics } = await collectFrom(
    {
      run(request, told) {
        told.event(step(0, 0.25));
        if (request.context?.episodeId?.attempt === 0) return told.outcome(failed());
        told.event(step(1));
        told.outcome(scored(1));
      },
    },
    planned(1),
    { attempts: 2 },
  );
  expect(metrics.coverage).toMatchObject({ scored: 1 });
  expect(steps.map(({ attempt, record }) => [attempt, record.response?.stepIndex])).toEqual([
    [0, 0],
    [1, 0],
    [1, 1],
  ]);
  expect(steps[0]?.record.response?.outcomes[0]?.reward?.value).toBe(0.25);
});

it("gives everything up at once when asked twice", async () => {
  const stop = new AbortController();
  const abandon = new AbortController();
  const ends: (() => void)[] = [];
  const { metrics, stopped } = await collectFrom(
    {
      run(_request, say) {
        ends.push(() => say.outcome(failed({ kind: FailureKind.CANCELLED })));
        if (ends.length < 2) return;
        stop.abort();
        abandon.abort();
      },
      stop: () => ends.pop()?.(),
    },
    planned(4),
    { concurrency: 2, clock: new ManualClock(), stop: stop.signal, abandon: abandon.signal },
  );
  expect(stopped).toBe("it was asked to");
  expect(metrics.coverage).toMatchObject({ unfinished: 2, not_begun: 2 });
});

it("tries again what used up its attempts, once it is resumed, and leaves what failed for good", async () => {
  const first = await collectFrom(
    { run: (request, told) => told.outcome(failed(numberOf(request) === 1 ? { retry: Retry.NEVER } : {})) },
    planned(2),
    { attempts: 2 },
  );
  expect(first.metrics.coverage).toMatchObject({ failed: 2 });
  const resumed = await collectFrom({ run: (_request, told) => told.outcome(scored(1)) }, planned(2), {
    folder: first.folder,
  });
  expect(resumed.driver.requests.map(numberOf)).toEqual([2]);
  expect(resumed.driver.requests[0]?.context?.episodeId?.attempt).toBe(2);
  expect(resumed.metrics).toMatchObject({
    coverage: { scored: 1, failed: 1 },
    failures: { by_kind: { unavailable: 1 } },
  });
  expect(resumed.progress[0]).toMatchObject({ done: 1, total: 2, failed: 1 });
});

it("field-case-095: a driver that dies before the last row leaves no hole", async () => {
  const { metrics, stopped } = await collectFrom(
    { run: (request, told) => (numberOf(request) === 10 ? told.end() : told.outcome(scored(1))) },
    planned(10),
  );
  expect(stopped).toBeUndefined();
  expect(metrics.coverage).toEqual({
    expected: 10,
    scored: 9,
    masked: 0,
    unscored: 0,
    failed: 1,
    unfinished: 0,
    not_begun: 0,
  });
  expect(metrics.failures.by_kind).toEqual({ unavailable: 1 });
});

it.skipIf(!existsSync("/dev/full"))("stops when a verdict cannot be written, and says so", async () => {
  const folder = temporaryFolder();
  symlinkSync("/dev/full", join(folder, runFiles.rollouts));
  const { stopped, driver } = await collectFrom(
    { run: (_request, told) => told.outcome(scored(1)) },
    planned(50),
    { folder, concurrency: 2 },
  );
  expect(stopped).toMatch(/^its files cannot be written: ENOSPC/);
  expect(driver.requests.length).toBeLessThan(5);
});
