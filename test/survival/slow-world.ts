// A world whose episodes take a while, so that many are on their way when something dies.
import { setTimeout as pause } from "node:timers/promises";
import { defineEnvironment } from "touchstone/servers";
import { z } from "zod";

export default defineEnvironment({
  name: "slow",
  version: "1.0.0",
  reward: { timing: "step", minimum: 0, maximum: 1 },
  determinism: "seeded",
  read: ({ task }) => task.taskId?.id ?? "",
  seed: ({ data }) => ({ state: { task: data, done: 0 }, input: "Work four times." }),
  tools: {
    work: {
      description: "Does a quarter of the work.",
      input: z.strictObject({}),
      async run(_args, { state, signal }) {
        await pause(120, undefined, { signal });
        state.done += 1;
        return { content: `${state.done} of 4`, reward: 0.25 };
      },
    },
  },
  async verify({ state, stepRewards, signal }) {
    await pause(60, undefined, { signal });
    return { reward: stepRewards, success: state.done === 4 };
  },
});
