import { Refusal } from "./refusal.js";
import type { Session } from "./session.js";

/**
 * Takes the turn of a session for work that makes another one out of it (Fork): nothing of it runs meanwhile, its lease
 * stands still, and its Close waits. Call what it answers when the work has returned. Throws SESSION_BUSY where
 * something runs (R3).
 */
export function borrowSession<S>(session: Session<S>): () => void {
  // Work that was given up at its timeout may still be changing the session.
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
  return () => {
    session.holds -= 1;
    session.loose.delete(loose);
    returned();
    session.turn.give();
  };
}
