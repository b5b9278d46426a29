// The smallest environment: guess a number. The whole world is here; ids, repeats, order, leases, failures and streams
// are the runtime's. Try it: npx touchstone run examples/guess-the-number.yaml --out out/guess
import { defineEnvironment, toolCallItem } from "touchstone/servers";
import { z } from "zod";

const secret = z.strictObject({ number: z.int().min(1).max(100) });

export default defineEnvironment({
  name: "guess-the-number",
  version: "1.0.0",
  reward: { timing: "terminal", minimum: 0, maximum: 1 },
  determinism: "seeded",
  privilegedSchema: secret,

  // A task that does not fit is refused with the path of its bad field.
  read: (task) => task.privilegedJson(secret),

  seed: ({ data }) => ({
    state: { number: data.number, found: false },
    input: "I think of a whole number from 1 to 100. Find it with the tool guess.",
  }),

  tools: {
    guess: {
      description: "Guesses the number.",
      input: z.object({ number: z.int() }),
      run({ number }, { state }) {
        if (number === state.number) {
          state.found = true;
          return { content: "Yes!", terminated: true };
        }
        return number < state.number ? "Higher." : "Lower.";
      },
    },
  },

  verify: ({ state }) => ({ reward: state.found ? 1 : 0, success: state.found }),

  // For oracles that check the environment.
  reference: ({ number }) => ({
    items: [toolCallItem({ callId: "1", name: "guess", argumentsJson: JSON.stringify({ number }) })],
  }),
});
