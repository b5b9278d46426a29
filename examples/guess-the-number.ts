// The smallest environment: guess a number between 1 and 100. The whole world is here; names, repeats, order, leases,
// failures and streams are the runtime's.
import { z } from "zod";
import { defineEnvironment } from "touchstone/servers";

const secret = z.object({ number: z.int().min(1).max(100) });

export default defineEnvironment({
  name: "guess-the-number",
  version: "1.0.0",
  reward: { timing: "terminal", minimum: 0, maximum: 1 },
  determinism: "seeded",
  privilegedSchema: secret,

  read: (task) => task.privilegedJson(secret),

  seed: () => ({
    state: { guesses: 0, found: false },
    input: "I am thinking of a whole number from 1 to 100. Guess it.",
  }),

  stepKinds: ["items"],
  step({ state, actions }) {
    const [action] = actions;
    const item = action?.kind.case === "items" ? action.kind.value.items.at(-1) : undefined;
    void item;
    state.guesses += 1;
    return { observation: "higher" };
  },

  verify: ({ data, answer }) => {
    const right = answer.trim() === String(data.number);
    return { reward: right ? 1 : 0, success: right };
  },
});
