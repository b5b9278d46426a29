import { Presets, SingleBar } from "cli-progress";
import type { RunProgress } from "../rollouts/collect.js";

/** Shows how far runs are, one after the other; on a terminal only. */
export interface ProgressBar extends Disposable {
  readonly update: (run: string, progress: RunProgress) => void;
}

const nameWidth = 12;

/** A bar with the mean reward so far, a line for each run. */
export function progressBar(stream: NodeJS.WriteStream = process.stderr): ProgressBar {
  if (!stream.isTTY) return { update: () => {}, [Symbol.dispose]: () => {} };
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
    [Symbol.dispose]: () => shown?.bar.stop(),
  };
}

function newBar(run: string, stream: NodeJS.WriteStream): SingleBar {
  return new SingleBar(
    {
      format: `${run.padEnd(nameWidth)} {bar} {value}/{total}  mean {mean}  failed {failed}  {eta_formatted}`,
      stream,
      hideCursor: true,
    },
    Presets.shades_classic,
  );
}
