// The benchmark's command: see README.md beside this file.
import { writeFileSync } from "node:fs";
import { packageVersion } from "../servers/runtime/version.js";
import { readOptions } from "./options.js";
import { chooseJobs } from "./peers/choose-jobs.js";
import { MANY, WORKERS } from "./plan.js";
import { pointNames } from "./points/index.js";
import { type Profiled, profilePoint } from "./profile/profile-point.js";
import { dominantParts, profileText } from "./profile/profile-text.js";
import { type Dominant, documentOf } from "./report/document.js";
import { loadNow, machineOf } from "./report/machine.js";
import { printed } from "./report/print.js";
import { findCores } from "./run/cores.js";
import { runTries } from "./run/run-tries.js";

const options = readOptions(process.argv.slice(2));
const cores = findCores();
/** What goals are set for, where most of the time is spent. */
const watched: readonly Profiled[] = [
  { point: "step-stream", side: "server", sessions: MANY },
  { point: "step", side: "server", sessions: MANY },
  { point: "episodes", side: "client", sessions: WORKERS },
];
const how = { cores, seconds: options.seconds, warmSeconds: options.warm };

if (options.profile === undefined) {
  const loadBefore = loadNow();
  const { jobs, skipped } = await chooseJobs(options);
  const measurements = await runTries(jobs, {
    ...how,
    tries: options.tries,
    onMeasured({ point, mode, sessions, attempt, ...figure }) {
      const found = "error" in figure ? figure.error : Object.values(figure).slice(0, 3).join(" ");
      process.stderr.write(`try ${attempt + 1}/${options.tries} ${point} ${mode} @${sessions}: ${found}\n`);
    },
  });
  const dominant: Dominant[] = [];
  for (const asked of watched) {
    if (options.only.length > 0 && !options.only.includes(asked.point)) continue;
    try {
      dominant.push({ ...asked, parts: dominantParts(await profilePoint(asked, how)) });
    } catch (error) {
      dominant.push({ ...asked, parts: `no profile: ${error instanceof Error ? error.message : error}` });
    }
  }
  const document = documentOf(measurements, {
    date: new Date().toISOString(),
    version: packageVersion,
    options: { tries: options.tries, seconds: options.seconds, warmSeconds: options.warm },
    machine: machineOf(cores, loadBefore),
    skipped,
    dominant,
  });
  console.log(printed(document));
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(document, undefined, 2)}\n`);
  // A point of ours that could not be measured is a defect; a peer that fails only has no figure.
  const ours: readonly string[] = pointNames;
  if (measurements.some((one) => "error" in one && ours.includes(one.point))) process.exitCode = 1;
} else {
  const { profile: point, side, sessions } = options;
  console.log(profileText(await profilePoint({ point, side, sessions }, how)));
}
