import { askSession, capOf } from "../shared/capacity.js";
import type { EnvironmentTrial } from "./environment-trial.js";
import { environmentCheck } from "./environment-trial.js";
import { seedOperation } from "./operations/seed.js";
import { environmentSessions } from "./sessions.js";
import { sharedEnvironment } from "./shared.js";

/** What is judged by more Seeds than there are places. */
const check = (
  { name, what }: { readonly name: string; readonly what: "invalid" | "crash" },
  judge: (t: EnvironmentTrial, end: Awaited<ReturnType<typeof askSession>>["end"]) => void,
) =>
  environmentCheck(
    {
      clause: "ENV-SEED-010",
      name,
      title: `after more Seeds that ended as "${what}" than there are places a good one has its place.`,
      lane: "capacity",
      within: 60,
      sendsInvalid: what === "invalid",
    },
    async (t) => {
      const { cap } = await capOf(t, sharedEnvironment);
      for (let round = 0; round < cap + 1; round += 1) {
        const seed = await seedOperation.provoke(t, what);
        judge(t, await seed.ask());
      }
      const { end } = await askSession(t, environmentSessions);
      t.judge.equal("the status of a good Seed", end.status, undefined);
    },
  );

/** ENV-SEED-010: what came to nothing holds nothing. */
export const seedCapacityChecks = [
  check({ name: "refused", what: "invalid" }, (t, end) =>
    t.judge.refused("a bad Seed", end, { code: ["INVALID_ARGUMENT"], reason: [] }),
  ),
  check({ name: "failed", what: "crash" }, (t, end) => t.judge.failed("a Seed that broke", end)),
];
