import { toldAs } from "./upstream-error.js";

/** The failure of a stream that ended without its end: its connection was lost, however politely. */
export function endedEarly(): Error {
  return toldAs({ kind: "broken", answered: true }, { attempts: 1, elapsedMs: 0 });
}
