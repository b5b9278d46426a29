import { type Job, runJob } from "./job.js";

/** A process that runs what it is told to: one message in, one message out for each job. */
process.on("message", (job: Job) => {
  void runJob(job).then((done) => process.send?.(done));
});
process.on("disconnect", () => process.exit(0));
