import { Presets, SingleBar } from "cli-progress";
import type { RunProgress } from "../rollouts/run.js";

/** Shows how far a run is; on a terminal only. */
export interface ProgressBar {
  readonly update: (progress: RunProgress) => void;
  stop(): void;
}

/** A bar with the mean reward so far. */
export function progressBar(title: string): ProgressBar {
  if (process.stderr.isTTY !== true) return { update: () => {}, stop: () => {} };
  const bar = new SingleBar(
    {
      format: `${title.padEnd(12)} {bar} {value}/{total}  mean {mean}  failed {failed}  {eta_formatted}`,
      stream: process.stderr,
      hideCursor: true,
    },
    Presets.shades_classic,
  );
  let started = false;
  return {
    update({ done, total, scored, failed, rewardSum }) {
      const shown = { mean: scored === 0 ? "-" : (rewardSum / scored).toFixed(3), failed };
      if (started) bar.update(done, shown);
      else bar.start(total, done, shown);
      started = true;
    },
    stop: () => bar.stop(),
  };
}
