import { Refusal } from "./refusal.js";
import type { Session } from "./session.js";

/** A session's turn that is lent to work which makes another one out of it. */
export interface Borrowed {
  /** The work is given up, though it may still run: the session goes on once it is quiet, or says SESSION_BUSY. */
  giveUp(): void;
  /** The work has returned. */
  giveBack(): void;
}

/**
 * Takes the turn of a session for work that makes another one out of it (Fork): nothing of it runs meanwhile, its lease
 * stands still, and its Close waits. Throws SESSION_BUSY where something runs (R3).
 */
export function borrowSession<S>(session: Session<S>): Borrowed {
  if (session.turn.taken || session.loose.size > 0) {
    throw new Refusal("SESSION_BUSY", "an operation of this session runs; try again when it has ended");
  }
  void session.turn.take();
  session.holds += 1;
  let returned: () => void = () => {};
  const loose = new Promise<void>((resolve) => {
    returned = resolve;
  });
  session.loose.add(loose);
  let lent = true;
  const giveUp = (): void => {
    if (!lent) return;
    lent = false;
    session.holds -= 1;
    session.turn.give();
  };
  return {
    giveUp,
    giveBack() {
      session.loose.delete(loose);
      returned();
      giveUp();
    },
  };
}
