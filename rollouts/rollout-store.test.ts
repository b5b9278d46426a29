import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";
import { expect, it } from "vitest";
import { FailureKind, Retry } from "../gen/index.js";
import { ConfigError } from "../servers/composition/config-error.js";
import { ManualClock } from "../test/manual-clock.js";
import { temporaryFolder } from "../test/temporary-folder.js";
import { failureOf, planned, verdictOf } from "./fixtures/attempts.js";
import { summariseRun } from "./metrics/summaries.js";
import { RolloutStore } from "./rollout-store.js";
import { holdsRun, runFiles, setApart } from "./run-folder.js";

const log = pino({ level: "silent" });
const episodes = planned(10);
const [first, second, third, fourth, fifth] = episodes as [
  ...[
    (typeof episodes)[0],
    (typeof episodes)[0],
    (typeof episodes)[0],
    (typeof episodes)[0],
    (typeof episodes)[0],
  ],
];

function open(folder: string, clock = new ManualClock()): RolloutStore {
  const store = new RolloutStore({ folder, clock, log });
  store.begin({
    runId: "run1",
    identity: store.identity ?? "{}",
    rolloutIds: episodes.map(({ rolloutId }) => rolloutId),
  });
  return store;
}

const states = (store: RolloutStore): Record<string, string> =>
  Object.fromEntries([...store.rows().values()].map(({ rolloutId, state }) => [rolloutId, state]));

const linesOf = (folder: string): string[] =>
  readFileSync(join(folder, runFiles.rollouts), "utf8").split("\n").filter(Boolean);

it("tells of verdicts only once they are safe, and where each episode stands", async () => {
  const store = open(temporaryFolder());
  for (const episode of [first, second, third]) store.attempt(episode.rolloutId, 0);
  const safe = store.land(verdictOf(first, 0.5));
  expect(states(store)[first.rolloutId]).toBe("running");
  await safe;
  await store.fail(failureOf(second, { retry: Retry.NEVER }), "failed");
  await store.fail(failureOf(third, { final: false }), "planned");
  expect(states(store)).toMatchObject({
    [first.rolloutId]: "landed",
    [second.rolloutId]: "failed",
    [third.rolloutId]: "planned",
    [fourth.rolloutId]: "planned",
  });
  expect(store.rows().get(first.rolloutId)).toMatchObject({ attempts: 1, reward: 0.5 });
  await store.close();
});

it("field-case-096: refuses a second verdict of a rollout, also after it was opened again", async () => {
  const folder = temporaryFolder();
  const store = open(folder);
  await store.land(verdictOf(second, 1));
  expect(() => store.land(verdictOf(second, 0))).toThrow("has a verdict already; a second one is refused");
  await store.close();
  const again = open(folder);
  expect(() => again.land(verdictOf(second, 0))).toThrow("has a verdict already; a second one is refused");
  await again.close();
  expect(linesOf(folder)).toHaveLength(1);
});

it("field-case-093: takes what was written after the index's last word, without the torn line", async () => {
  const folder = temporaryFolder();
  const store = open(folder);
  for (const episode of [first, second, third]) await store.land(verdictOf(episode, 1));
  store.attempt(fourth.rolloutId, 0);
  store.attempt(fifth.rolloutId, 0);
  await store.close();
  // The process dies after the fourth record, while it writes the fifth; the index has heard of neither.
  appendFileSync(
    join(folder, runFiles.rollouts),
    `${JSON.stringify(verdictOf(fourth, 1))}\n{"index":4,"roll`,
  );
  const resumed = open(folder);
  expect(states(resumed)).toMatchObject({ [fourth.rolloutId]: "landed", [fifth.rolloutId]: "running" });
  await resumed.land(verdictOf(fifth, 1, { attempt: 1 }));
  await resumed.close();
  expect(linesOf(folder).map((line) => JSON.parse(line).index)).toEqual([0, 1, 2, 3, 4]);
});

it("field-case-093: makes a lost index again from the files", async () => {
  const folder = temporaryFolder();
  const store = open(folder);
  await store.land(verdictOf(first, 0.25, { attempt: 2 }));
  await store.fail(failureOf(second, { retry: Retry.NEVER }, { attempt: 1 }), "failed");
  await store.fail(failureOf(third, {}, { attempt: 2 }), "exhausted");
  await store.fail(failureOf(fourth, { final: false }), "planned");
  await store.close();
  rmSync(join(folder, runFiles.index));
  const again = open(folder);
  expect(again.runId).toBe("run1");
  expect([first, second, third, fourth].map(({ rolloutId }) => again.rows().get(rolloutId))).toMatchObject([
    { state: "landed", attempts: 3, reward: 0.25 },
    { state: "failed", attempts: 2 },
    { state: "exhausted", attempts: 3 },
    { state: "planned", attempts: 1 },
  ]);
  await again.close();
});

it("refuses a file that is shorter than what the index knows of", async () => {
  const folder = temporaryFolder();
  const store = open(folder);
  await store.land(verdictOf(first, 1));
  await store.close();
  rmSync(join(folder, runFiles.rollouts));
  expect(() => open(folder)).toThrow(ConfigError);
  expect(() => open(folder)).toThrow(/rollouts\.jsonl: has 0 bytes and the index knows of \d+/);
});

it("belongs to one process at a time", async () => {
  const folder = temporaryFolder();
  const store = open(folder);
  expect(() => open(folder)).toThrow(/index\.sqlite: another run is using this folder/);
  await store.close();
  await open(folder).close();
});

it("says what is wrong with an index that is none", async () => {
  const folder = temporaryFolder();
  appendFileSync(
    join(folder, runFiles.index),
    "not a database, but as long as the head of one would be".repeat(20),
  );
  expect(() => open(folder)).toThrow(/index\.sqlite: is no index of a run; delete it/);
});

it("field-case-092: sets an earlier run apart, file by file", async () => {
  const folder = temporaryFolder();
  for (const reward of [0, 1]) {
    const store = open(folder);
    await store.land(verdictOf(first, reward));
    await store.fail(failureOf(second), "exhausted");
    await store.close();
    setApart(folder);
    expect(holdsRun(folder)).toBe(false);
  }
  const fresh = open(folder);
  expect(fresh.rows().get(second.rolloutId)).toMatchObject({ state: "planned", attempts: 0 });
  await fresh.close();
  expect(summariseRun(folder)).toEqual({ rollouts: [], failures: [] });
  expect(linesOf(join(folder, "earlier", "1"))[0]).toContain('"reward":0');
  expect(linesOf(join(folder, "earlier", "2"))[0]).toContain('"reward":1');
});

it("field-case-102: counts the time of all parts of a run", async () => {
  const folder = temporaryFolder();
  const clock = new ManualClock();
  const before = open(folder, clock);
  clock.advance(60_000);
  await before.land(verdictOf(first, 1));
  await before.close();
  clock.advance(3_600_000);
  const after = open(folder, clock);
  clock.advance(30_000);
  expect(after.elapsedMs).toBe(90_000);
  expect(after.startedAt).toBe("2026-01-01T00:00:00.000Z");
  await after.close();
});

it.skipIf(!existsSync("/dev/full"))(
  "says that a file cannot be written, and stores nothing more",
  async () => {
    const folder = temporaryFolder();
    mkdirSync(folder, { recursive: true });
    symlinkSync("/dev/full", join(folder, runFiles.rollouts));
    const store = open(folder);
    expect(() => store.land(verdictOf(first, 1))).toThrow(/ENOSPC/);
    expect(store.broken.aborted).toBe(true);
    expect(() => store.land(verdictOf(second, 1))).toThrow(/ENOSPC/);
    expect(() => store.attempt(third.rolloutId, 0)).toThrow(/ENOSPC/);
    await store.close();
  },
);

it("makes a group safe together, whatever its size", async () => {
  const folder = temporaryFolder();
  const store = open(folder);
  const landed = episodes.map((episode) => store.land(verdictOf(episode, 1)));
  await store.sync();
  await Promise.all(landed);
  expect(Object.values(states(store))).toEqual(episodes.map(() => "landed"));
  await store.close();
});

it("field-case-042: bounds a reason, whatever a peer sends, and keeps its kind", async () => {
  const folder = temporaryFolder();
  const store = open(folder);
  const reason = `disk\n{"level":"error","msg":"fake"} ${"x".repeat(200_000)}`;
  const failure = { kind: FailureKind.CUSTOM, customKind: "acme:disk_on_fire", retry: Retry.NEVER, reason };
  await store.fail(failureOf(first, failure), "failed");
  await store.close();
  const text = readFileSync(join(folder, runFiles.failures), "utf8");
  expect(text.split("\n")).toHaveLength(2);
  expect(text.length).toBeLessThan(10_000);
  expect(summariseRun(folder).failures).toMatchObject([{ kind: "acme:disk_on_fire" }]);
});
