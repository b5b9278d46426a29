import { logError } from "../runtime/log.js";
import { within } from "../runtime/within.js";
import type { EnvironmentContext } from "./environment-context.js";

/** A state that its author made and no session holds. */
export interface LooseState<State> {
  readonly state: State;
  /** What it was made for, by the log's names: `{ session: "s1" }`. */
  readonly madeFor: Readonly<Record<string, string>>;
}

/**
 * Releases a state by its author's `close`. Never throws, and ends within the grace of a Close: what went wrong is logged,
 * so that it hides neither a verdict nor the failure because of which the state is released.
 */
export async function releaseQuietly<Data, State>(
  { runtime, definition }: Pick<EnvironmentContext<Data, State>, "runtime" | "definition">,
  { state, madeFor }: LooseState<State>,
): Promise<void> {
  const { clock, limits, log } = runtime;
  const tell = (error: unknown): void => logError(log, { what: "release", ...madeFor }, error);
  const close = async (): Promise<void> => {
    try {
      await definition.close?.(state);
    } catch (error) {
      tell(error);
    }
  };
  const ms = limits.closeGraceMs;
  const late = (): Error =>
    new Error(`close has not ended within ${ms} ms; what the state holds may stay behind`);
  await within(close(), { clock, ms, late }).catch(tell);
}
