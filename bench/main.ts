// The benchmark's command: see README.md beside this file.
import { writeFileSync } from "node:fs";
import { packageVersion } from "../servers/runtime/version.js";
import { readOptions } from "./options.js";
import { chooseJobs } from "./peers/choose-jobs.js";
import { pointNames } from "./points/index.js";
import { profilePoint } from "./profile/profile-point.js";
import { documentOf } from "./report/document.js";
import { loadNow, machineOf } from "./report/machine.js";
import { printed } from "./report/print.js";
import { findCores } from "./run/cores.js";
import { runTries } from "./run/run-tries.js";

const options = readOptions(process.argv.slice(2));
const cores = findCores();
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
  const document = documentOf(measurements, {
    date: new Date().toISOString(),
    version: packageVersion,
    options: { tries: options.tries, seconds: options.seconds, warmSeconds: options.warm },
    machine: machineOf(cores, loadBefore),
    skipped,
  });
  console.log(printed(document));
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(document, undefined, 2)}\n`);
  // A point of ours that could not be measured is a defect; a peer that fails only has no figure.
  const ours: readonly string[] = pointNames;
  if (measurements.some((one) => "error" in one && ours.includes(one.point))) process.exitCode = 1;
} else {
  const { profile: point, side, sessions } = options;
  console.log(await profilePoint(point, { ...how, side, sessions }));
}
