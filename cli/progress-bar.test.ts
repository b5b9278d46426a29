import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { ManualClock } from "../test/manual-clock.js";
import { lineMs, progressBar } from "./progress-bar.js";

const progress = { done: 3, total: 10, scored: 2, failed: 1, retried: 0, rewardSum: 1 };

/** A terminal that remembers what was written to it. */
function terminal(isTTY: boolean) {
  const stream = Object.assign(new PassThrough(), {
    isTTY,
    columns: 120,
    cursorTo() {},
    moveCursor() {},
    clearLine() {},
  });
  return { stream: stream as unknown as NodeJS.WriteStream, written: () => String(stream.read() ?? "") };
}

it("shows how far each run is, with the mean of what was scored", () => {
  const { stream, written } = terminal(true);
  {
    using bar = progressBar(stream);
    bar.update("oracle", { ...progress, done: 0, scored: 0, failed: 0, rewardSum: 0 });
    bar.update("oracle", progress);
    bar.update("noop", { ...progress, done: 10 });
  }
  const shown = written();
  expect(shown).toContain("0/10  mean -  failed 0");
  expect(shown).toContain("3/10  mean 0.500  failed 1");
  expect(shown).toMatch(/noop .*10\/10/);
});

it("writes a line every few seconds where there is no terminal, and none where nothing has changed", () => {
  const { stream, written } = terminal(false);
  const clock = new ManualClock();
  {
    using bar = progressBar(stream, clock);
    bar.update("oracle", { ...progress, done: 2 });
    bar.update("oracle", progress);
    expect(written()).toBe("");
    clock.advance(lineMs);
    expect(written()).toBe("oracle  3/10  mean 0.500  failed 1\n");
    clock.advance(lineMs);
    bar.update("oracle", { ...progress, retried: 2 });
    clock.advance(lineMs);
    expect(written()).toBe("oracle  3/10  mean 0.500  failed 1, tried again 2\n");
    bar.update("noop", { ...progress, done: 10 });
  }
  expect(clock.timers).toBe(0);
  expect(written()).toBe("");
});

it("writes lines above the bar, and plain ones where there is none", () => {
  const shown = terminal(true);
  {
    using bar = progressBar(shown.stream);
    bar.update("oracle", progress);
    bar.line("step 1");
  }
  expect(shown.written()).toMatch(/3\/10[^\n]*\r[^\n]*step 1\n.*3\/10/s);
  const plain = terminal(false);
  {
    using bar = progressBar(plain.stream);
    bar.line("step 1");
  }
  expect(plain.written()).toBe("step 1\n");
});
