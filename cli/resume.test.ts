import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, watch, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { temporaryFolder } from "../test/temporary-folder.js";
import {
  failuresOf,
  metricsOf,
  type Running,
  rolloutsOf,
  start,
  tasksOf,
  touchstone,
  worldConfig,
} from "./fixtures/touchstone.js";

const score = { does: "score", reward: 1 };
const wait = { does: "wait" };

/** A folder with tasks of which some wait until its gate is opened. */
function gated(does: readonly object[], run = "") {
  const folder = temporaryFolder({ "tasks.jsonl": tasksOf(...does) });
  const gate = join(folder, "gate");
  writeFileSync(join(folder, "c.yaml"), worldConfig(run, "", `{ gate: ${gate} }`));
  const out = join(folder, "out");
  mkdirSync(out);
  return {
    folder,
    out,
    openGate: () => writeFileSync(gate, ""),
    args: ["run", join(folder, "c.yaml"), "--out", out],
  };
}

/** Waits until a run has stored so many verdicts. */
async function stored(out: string, verdicts: number, { child }: Running): Promise<void> {
  const file = join(out, "rollouts.jsonl");
  await new Promise<void>((resolve, reject) => {
    const look = (): void => {
      if (existsSync(file) && readFileSync(file, "utf8").split("\n").length > verdicts) settle(resolve);
    };
    const died = (code: number | null): void => settle(() => reject(new Error(`the run ended with ${code}`)));
    const watcher = watch(out, look);
    const settle = (end: () => void): void => {
      watcher.close();
      child.off("exit", died);
      end();
    };
    child.once("exit", died);
    look();
  });
}

const ids = (out: string): string[] => rolloutsOf(out).map(({ task, repeat }) => `${task.id}/${repeat}`);

it("field-case-093, field-case-110: a killed run goes on where it was, and a second resume runs nothing", async () => {
  // Rows 3 and 8 are byte-identical but for their ids; each is asked twice.
  const does = [score, score, score, wait, wait, wait, wait, score, wait, wait];
  const { out, args, openGate } = gated(does, "  repeats: 2\n  concurrency: 20");
  const first = start(args);
  await stored(out, 8, first);
  first.child.kill("SIGKILL");
  await first.ended;
  // It died in the middle of a line.
  appendFileSync(join(out, "rollouts.jsonl"), '{"index":7,"rollout_id":"run');
  openGate();
  const resumed = await touchstone([...args, "--resume"]);
  expect(resumed.code).toBe(0);
  const expected = does.flatMap((_, i) => [`${i + 1}/0`, `${i + 1}/1`]).sort();
  expect(ids(out).sort()).toEqual(expected);
  // Attempts that were on their way have used up their number; what had landed was not touched.
  expect(rolloutsOf(out).filter(({ attempt }) => attempt === 0)).toHaveLength(8);
  expect(metricsOf(out).coverage).toMatchObject({ expected: 20, scored: 20, unfinished: 0, not_begun: 0 });
  const before = readFileSync(join(out, "rollouts.jsonl"), "utf8");
  const again = await touchstone([...args, "--resume"]);
  expect(again.code).toBe(0);
  // The table is of the whole run.
  expect(again.stdout).toMatch(/\nnoop +1\.000 +1\.000 +20 .*\nnoop: resumed: 20 of 20 had ended before; /);
  expect(readFileSync(join(out, "rollouts.jsonl"), "utf8")).toBe(before);
}, 60_000);

it("field-case-093: a run that lost everything but its verdicts goes on too", async () => {
  const { out, args } = gated([score, score, score]);
  expect((await touchstone(args)).code).toBe(0);
  const [one = "", two = ""] = readFileSync(join(out, "rollouts.jsonl"), "utf8").split("\n");
  writeFileSync(join(out, "rollouts.jsonl"), `${one}\n${two.slice(0, 40)}`);
  for (const file of ["index.sqlite", "metrics.json", "config.yaml", "failures.jsonl"])
    rmSync(join(out, file));
  expect((await touchstone([...args, "--resume"])).code).toBe(0);
  expect(ids(out).sort()).toEqual(["1/0", "2/0", "3/0"]);
  expect(readFileSync(join(out, "rollouts.jsonl"), "utf8").startsWith(`${one}\n`)).toBe(true);
  expect(metricsOf(out).coverage).toMatchObject({ expected: 3, scored: 3 });
});

it("refuses to go on as another run, and changes nothing", async () => {
  const { out, args, folder } = gated([score, score]);
  expect((await touchstone(args)).code).toBe(0);
  const before = readFileSync(join(out, "rollouts.jsonl"), "utf8");
  const elsewhere = await touchstone([...args, "--resume", "--out", join(folder, "nothing-there")]);
  expect(elsewhere).toMatchObject({ code: 2, stdout: "" });
  expect(elsewhere.stderr).toContain(
    "expected the folder of a run that --resume goes on with, found nothing",
  );
  const more = await touchstone([...args, "--resume", "--repeats", "2"]);
  expect(more).toMatchObject({
    code: 2,
    stderr: `${out}: the run there differs in run.repeats; resume it with the same, or choose another --out\n`,
  });
  writeFileSync(join(folder, "tasks.jsonl"), tasksOf(score, { ...score, reward: 0 }));
  expect(await touchstone([...args, "--resume"])).toMatchObject({
    code: 2,
    stderr: `${out}: the run there differs in tasks; resume it with the same, or choose another --out\n`,
  });
  expect(readFileSync(join(out, "rollouts.jsonl"), "utf8")).toBe(before);
}, 60_000);

it("field-case-100: SIGINT lets what runs end, gives up what hangs, and says with 3 that there is more", async () => {
  const does = [score, wait, score, score, score];
  const { out, args, openGate } = gated(does, "  concurrency: 1\n  drain_timeout: 300ms");
  const running = start(args);
  await stored(out, 1, running);
  running.child.kill("SIGINT");
  const stopped = await running.ended;
  expect(stopped.code).toBe(3);
  // Each of three clean-ups may take cleanup_timeout, and Stop itself a while.
  expect(stopped.stderr).toBe(
    "stopping: what runs may end within 0.3 s (run.drain_timeout), then it is given up and has 16 s to clean up; again to give it up now\n",
  );
  expect(stopped.stdout).toContain("noop: stopped before the end: it was asked to\n");
  expect(stopped.stdout).toMatch(/noop: unfinished: tasks\.jsonl:2 \(run\w+\.2-\w+\.r0\)\n/);
  expect(metricsOf(out).coverage).toMatchObject({
    expected: 5,
    scored: 1,
    failed: 0,
    unfinished: 1,
    not_begun: 3,
  });
  expect(failuresOf(out)).toMatchObject([
    {
      task: { id: "2" },
      final: false,
      failure: { kind: "FAILURE_KIND_CANCELLED" },
      outcome: { stopReason: "the run was stopped, and the episode did not end within 300 ms" },
    },
  ]);
  openGate();
  expect((await touchstone([...args, "--resume"])).code).toBe(0);
  expect(ids(out)).toEqual(["1/0", "2/0", "3/0", "4/0", "5/0"]);
  expect(rolloutsOf(out).map(({ attempt }) => attempt)).toEqual([0, 1, 0, 0, 0]);
  expect(metricsOf(out).coverage).toMatchObject({ scored: 5, unfinished: 0, not_begun: 0 });
}, 60_000);

it("field-case-100: a second SIGINT gives up at once", async () => {
  const { out, args } = gated([score, wait], "  concurrency: 1\n  drain_timeout: 10m");
  const running = start(args);
  await stored(out, 1, running);
  running.child.kill("SIGINT");
  await running.says("stopping:");
  running.child.kill("SIGTERM");
  const { code, stderr } = await running.ended;
  expect(code).toBe(3);
  expect(stderr).toContain("giving up what runs: it has 16 s to clean up; again to leave without clean-up\n");
  expect(failuresOf(out)).toMatchObject([{ outcome: { stopReason: "the run was stopped at once" } }]);
}, 60_000);

it("refuses a folder that another run is using", async () => {
  const { out, args } = gated([score, wait], "  concurrency: 1\n  drain_timeout: 0s");
  const running = start(args);
  await stored(out, 1, running);
  for (const more of [[], ["--resume"]]) {
    const second = await touchstone([...args, ...more]);
    expect(second).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("another run is using this folder"),
    });
  }
  running.child.kill("SIGINT");
  expect((await running.ended).code).toBe(3);
  expect(ids(out)).toEqual(["1/0"]);
}, 60_000);
