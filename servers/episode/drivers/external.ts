import { z } from "zod";
import { invalidField } from "../../runtime/refusal.js";
import { defineDriver } from "../define-driver.js";
import { postRun, runServiceSchema } from "../post-run.js";

const options = z
  .strictObject({
    server: z
      .string()
      .min(1)
      .describe("Name of the episode server that plays. Absent: the only one that is bound.")
      .optional(),
    driver: z.string().default("").describe("Its driver. Absent: its first."),
    driver_options: z.record(z.string(), z.unknown()).describe("Options of its driver.").optional(),
    run: runServiceSchema.describe("A service that plays an episode in one HTTP call.").optional(),
  })
  .refine(({ server, run }) => server === undefined || run === undefined, {
    error: "expected one of server and run, found both",
  });

/**
 * Episodes that are played elsewhere: by another episode server, to which Run and Stop are relayed, or by a service that
 * plays each in one HTTP call. Their verdicts are told to be external; no reward is made up (EPI-DRV-005, EPI-DRV-010).
 */
export const external = defineDriver<z.output<typeof options>>({
  name: "external",
  options,
  configured: ["run"],
  elsewhere: ({ server, run }, bound) => (run === undefined ? (server ?? sole(bound)) : undefined),
  async run(episode, { run, driver, driver_options: theirs }) {
    if (run !== undefined) return await episode.playOutside((what) => postRun(run, what));
    return await episode.relay({ driver, optionsJson: theirs === undefined ? "" : JSON.stringify(theirs) });
  },
});

/** The only server that can be meant. */
function sole(bound: readonly string[]): string {
  const [only, ...others] = bound;
  if (only !== undefined && others.length === 0) return only;
  const known = bound.length === 0 ? "none is bound" : bound.join(", ");
  throw invalidField("options_json.server", `expected the name of the episode server that plays: ${known}`);
}
