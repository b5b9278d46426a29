import { Presets, SingleBar } from "cli-progress";
import type { ConformanceOptions } from "../../conformance/runner/run-conformance.js";

/** How far a run is: a bar on a terminal, nothing elsewhere. */
export interface CheckProgress extends Disposable {
  readonly update: NonNullable<ConformanceOptions["onCheck"]>;
}

/** Begins to show how far a run is. */
export function checkProgress(stream: NodeJS.WriteStream = process.stderr): CheckProgress {
  if (!stream.isTTY) return { update: () => undefined, [Symbol.dispose]: () => undefined };
  const bar = new SingleBar(
    {
      format: "{bar} {value}/{total}  failed {failed}  {check}",
      stream,
      hideCursor: true,
      clearOnComplete: true,
    },
    Presets.shades_classic,
  );
  let failed = 0;
  let begun = false;
  return {
    update({ check, verdict }, { done, all }) {
      if (verdict === "fail" || verdict === "not-testable") failed += 1;
      if (!begun) bar.start(all, done, { failed, check });
      else bar.update(done, { failed, check });
      begun = true;
    },
    [Symbol.dispose]() {
      if (begun) bar.stop();
      begun = false;
    },
  };
}
