import type { LoadSession } from "../points/point.js";

/**
 * A session of an echo: a number that goes up.
 *
 * @param exchange - Sends the request of this number, and checks the answer.
 */
export function countedSession(
  exchange: (index: number) => Promise<void>,
  close: () => void | Promise<void> = () => {},
): LoadSession {
  let index = 0;
  return {
    async reset() {
      index = 0;
    },
    async step() {
      await exchange(index);
      index += 1;
      return false;
    },
    close: async () => close(),
  };
}
