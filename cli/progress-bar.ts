import { Presets, SingleBar } from "cli-progress";
import type { RunProgress } from "../rollouts/collect.js";
import { type Clock, systemClock, type Timer } from "../servers/runtime/clock.js";

/** Shows how far runs are, one after the other: a bar on a terminal, else a line now and then. */
export interface ProgressBar extends Disposable {
  readonly update: (run: string, progress: RunProgress) => void;
  /** Writes a line of its own, above the bar where there is one. */
  readonly line: (text: string) => void;
}

const nameWidth = 12;

/** Begins the terminal's line anew, empty. */
const emptied = "\r\x1b[K";

/** Milliseconds between two lines where there is no terminal. */
export const lineMs = 10_000;

/** A bar with the mean reward so far, a line for each run. */
export function progressBar(
  stream: NodeJS.WriteStream = process.stderr,
  clock: Clock = systemClock,
): ProgressBar {
  const write = (text: string): void => {
    stream.write(`${text}\n`);
  };
  if (!stream.isTTY) return progressLines(write, clock);
  let shown: { readonly run: string; readonly bar: SingleBar } | undefined;
  return {
    update(run, progress) {
      const { done, total } = progress;
      const numbers = { mean: meanOf(progress), failed: failedText(progress) };
      if (shown?.run !== run) {
        shown?.bar.stop();
        shown = { run, bar: newBar(run, stream) };
        shown.bar.start(total, done, numbers);
      } else shown.bar.update(done, numbers);
    },
    line(text) {
      write(`${emptied}${text}`);
      shown?.bar.render();
    },
    [Symbol.dispose]: () => shown?.bar.stop(),
  };
}

function meanOf({ scored, rewardSum }: RunProgress): string {
  return scored === 0 ? "-" : (rewardSum / scored).toFixed(3);
}

/** Episodes that failed; attempts that did and are tried again, where there are any: a run that only repeats is seen. */
function failedText({ failed, retried }: RunProgress): string {
  return retried === 0 ? String(failed) : `${failed}, tried again ${retried}`;
}

/** A line every few seconds, where something has changed: short runs say nothing but their table. */
function progressLines(write: (text: string) => void, clock: Clock): ProgressBar {
  let newest: string | undefined;
  let timer: Timer;
  const tell = (): void => {
    if (newest !== undefined) write(newest);
    newest = undefined;
    timer = clock.setTimer(lineMs, tell);
  };
  timer = clock.setTimer(lineMs, tell);
  return {
    update(run, progress) {
      const { done, total } = progress;
      newest = `${run}  ${done}/${total}  mean ${meanOf(progress)}  failed ${failedText(progress)}`;
    },
    line: write,
    [Symbol.dispose]: () => timer.cancel(),
  };
}

function newBar(run: string, stream: NodeJS.WriteStream): SingleBar {
  return new SingleBar(
    {
      format: `${run.padEnd(nameWidth)} {bar} {value}/{total}  mean {mean}  failed {failed}  {eta_formatted}`,
      stream,
      hideCursor: true,
      // A line of its own has wiped it away.
      forceRedraw: true,
    },
    Presets.shades_classic,
  );
}
