import { existsSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { expect, describe as group, it } from "vitest";
import { failuresOf, metricsOf, type Running, rolloutsOf } from "../../cli/fixtures/touchstone.js";
import { DEFAULT_REPEAT_POLICY } from "../../clients/repeat.js";
import { seededRandom } from "../seeded-random.js";
import { concurrency, episodesOfRun, Fleet, type ServerName, serverNames } from "./fleet.js";

const kills = 20;
const inFlight = 8;
const seed = Number(process.env["TOUCHSTONE_KILL_SEED"] ?? Date.now() % 1_000_000);

/** Waits until so many episodes are on their way; false where the run has ended before. */
async function busy(fleet: Fleet, run: Running): Promise<number> {
  while (run.child.exitCode === null && run.child.signalCode === null) {
    const live = await fleet.live("episodes").catch(() => 0);
    if (live >= inFlight) return live;
    await pause(20);
  }
  return 0;
}

/** Failed attempts by kind and stage. */
type Tally = Map<string, number>;

/** Every planned episode has exactly one end, and what failed says what happened. */
function check(folder: string, tally: Tally): void {
  const rollouts = rolloutsOf(folder);
  const ids = rollouts.map(({ rollout_id }) => rollout_id);
  expect(new Set(ids).size, "scored twice").toBe(ids.length);
  for (const { failure } of failuresOf(folder)) {
    expect(failure.retry, JSON.stringify(failure)).toBe("RETRY_NEW_ATTEMPT");
    expect(failure.kind, JSON.stringify(failure)).toMatch(/^FAILURE_KIND_/);
    expect(failure.kind, JSON.stringify(failure)).not.toMatch(/UNSPECIFIED|INTERNAL/);
    expect(failure.stage, JSON.stringify(failure)).toMatch(/^STAGE_/);
    const what = `${failure.kind}/${failure.stage}`;
    tally.set(what, (tally.get(what) ?? 0) + 1);
  }
  const { coverage } = metricsOf(folder);
  expect(coverage).toMatchObject({ expected: episodesOfRun, unfinished: 0, not_begun: 0 });
  expect((coverage["scored"] ?? 0) + (coverage["failed"] ?? 0)).toBe(episodesOfRun);
  expect(coverage["scored"], "attempts were enough").toBe(episodesOfRun);
  for (const { reward } of rollouts) expect(reward).toBe(1);
}

// Again with the same moments: `TOUCHSTONE_KILL_SEED=... npx vitest run test/survival/kills.test.ts`.
group(`what is killed comes back, and nothing is lost (TOUCHSTONE_KILL_SEED=${seed})`, () => {
  const victims: readonly (ServerName | "run")[] = [...serverNames, "run"];
  it.concurrent.for(victims)(
    "SIGKILL of %s, 20 times at random moments with 8 episodes in flight or more",
    { timeout: 900_000 },
    async (victim, { expect }) => {
      await using fleet = await Fleet.start();
      const random = seededRandom(`${seed}/${victim}`);
      const evidence: number[] = [];
      const tally: Tally = new Map();
      const began = performance.now();
      let runs = 0;
      for (let turn = 0; evidence.length < kills; turn += 1) {
        const out = `${victim}-${turn}`;
        let run = fleet.run(out, false);
        while (evidence.length < kills) {
          if ((await busy(fleet, run)) === 0) break;
          await pause(random() * 400);
          const live = await fleet.live("episodes").catch(() => 0);
          if (live < inFlight) continue;
          evidence.push(live);
          if (victim === "run") {
            run.child.kill("SIGKILL");
            await run.ended;
            run = fleet.run(out, existsSync(fleet.folderOf(out)));
          } else {
            await fleet.kill(victim);
            await fleet.begin(victim);
          }
        }
        const ended = await run.ended;
        check(fleet.folderOf(out), tally);
        expect(ended.code, ended.stderr).toBe(0);
        runs += 1;
      }
      expect(evidence).toHaveLength(kills);
      expect(Math.min(...evidence)).toBeGreaterThanOrEqual(inFlight);
      const seconds = Math.round((performance.now() - began) / 1000);
      console.log(
        `${victim}: ${kills} kills in ${seconds} s over ${runs * episodesOfRun} episodes; in flight at each: ${evidence.join(" ")}; failed attempts:`,
        Object.fromEntries(tally),
      );
      // Nothing is left of all that: no session, no gateway, no episode.
      await expect
        .poll(() => Promise.all(serverNames.map((name) => fleet.live(name))), {
          timeout: 60_000,
          interval: 250,
        })
        .toEqual(serverNames.map(() => 0));
    },
  );

  it.concurrent("a run waits for an episode server that keeps its episodes, and learns how each of them ended", {
    timeout: 300_000,
  }, async ({ expect }) => {
    await using fleet = await Fleet.start();
    const run = fleet.run("waits", false);
    expect(await busy(fleet, run)).toBeGreaterThanOrEqual(inFlight);
    await fleet.kill("episodes");
    // More often than all calls under way would be repeated to a server that keeps nothing.
    await fleet.knocked("episodes", concurrency * DEFAULT_REPEAT_POLICY.attempts + 1);
    await fleet.begin("episodes");
    const ended = await run.ended;
    check(fleet.folderOf("waits"), new Map());
    expect(ended.code, ended.stderr).toBe(0);
    for (const { failure } of failuresOf(fleet.folderOf("waits")))
      expect(failure.reason).toBe("the episode server was restarted in the middle of the episode");
  });
});
