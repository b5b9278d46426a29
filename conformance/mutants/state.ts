import type { State } from "../reference/state.js";
import { currentCall, sessionOf, tellingCalls } from "./calls.js";
import type { Build } from "./mutant.js";
import { inWorld, together } from "./seams.js";

/** Lets a fault reach into the states of sessions, by their ids. */
export function inStates(build: (states: ReadonlyMap<string, State>) => Build): Build {
  const states = new Map<string, State>();
  return together(
    inWorld(({ seed }) => ({
      async seed(start) {
        const id = sessionOf(currentCall()?.request ?? ({} as never));
        const started = await seed(start);
        states.set(id, started.state);
        return started;
      },
    })),
    build(states),
    tellingCalls,
  );
}

/** Who opened a session: ids of one caller begin alike. A fault that strikes one caller leaves the others alone. */
export function callerOf(sessionId: string): string {
  return sessionId.split("-").slice(0, 2).join("-");
}
