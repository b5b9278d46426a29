import { defineEnvironment } from "../../servers/environment/define-environment.js";
import { textBlock } from "../../servers/runtime/items.js";

/** What an agent does in every step: 20 bytes. */
export const ACTION = "increment counter 01";
/** Steps of an episode. */
export const LAST = 1000;
/** What every step earns. */
export const REWARD = 0.1;

/** What is seen after `n` steps: 62 bytes. */
export const observationText = (n: number): string =>
  `The counter now stands at ${String(n).padStart(6)}; send the next action please.`;

/** The world that every peer serves too: count to 1000, 0.1 reward a step. */
export const counter = defineEnvironment<null, { n: number }>({
  name: "counter",
  version: "1.0.0",
  reward: { timing: "step", stepReward: "delta", minimum: 0, maximum: 100 },
  determinism: "seeded",
  stepKinds: ["content"],
  read: () => null,
  seed: () => ({ state: { n: 0 }, observation: { content: [textBlock(observationText(0))] } }),
  step({ state }) {
    state.n += 1;
    return {
      observation: { content: [textBlock(observationText(state.n))] },
      reward: REWARD,
      terminated: state.n >= LAST,
    };
  },
  verify: ({ stepRewards }) => ({ reward: Math.min(stepRewards, 100) }),
});
