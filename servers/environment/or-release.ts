import type { EnvironmentContext } from "./environment-context.js";
import { type LooseState, releaseQuietly } from "./release-quietly.js";

/**
 * Does what may still fail once an author's state is made; where it does, the state is released at once, for no session
 * will ever hold it (R5, ENV-SEED-010). Throws what the work threw, whatever comes of the release.
 */
export async function orRelease<Data, State, T>(
  context: Pick<EnvironmentContext<Data, State>, "runtime" | "definition">,
  loose: LooseState<State>,
  work: () => T | Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    await releaseQuietly(context, loose);
    throw error;
  }
}
