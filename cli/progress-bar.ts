import { Presets, SingleBar } from "cli-progress";
import type { RunProgress } from "../rollouts/collect.js";

/** Shows how far runs are, one after the other: a bar on a terminal only. */
export interface ProgressBar extends Disposable {
  readonly update: (run: string, progress: RunProgress) => void;
  /** Writes a line of its own, above the bar where there is one. */
  readonly line: (text: string) => void;
}

const nameWidth = 12;

/** Begins the terminal's line anew, empty. */
const emptied = "\r\x1b[K";

/** A bar with the mean reward so far, a line for each run. */
export function progressBar(stream: NodeJS.WriteStream = process.stderr): ProgressBar {
  const write = (text: string): void => {
    stream.write(`${text}\n`);
  };
  if (!stream.isTTY) return { update: () => {}, line: write, [Symbol.dispose]: () => {} };
  let shown: { readonly run: string; readonly bar: SingleBar } | undefined;
  return {
    update(run, { done, total, scored, failed, rewardSum }) {
      const numbers = { mean: scored === 0 ? "-" : (rewardSum / scored).toFixed(3), failed };
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
