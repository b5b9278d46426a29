import type { LoadSession } from "../points/point.js";
import type { LoadTask } from "./task.js";

/** Opens sessions, one behind the other, and leaves them alone. A refusal is a result. */
export async function hold({ open, sessions }: LoadTask) {
  const held: LoadSession[] = [];
  let error: string | null = null;
  try {
    while (held.length < sessions) {
      const session = await open();
      await session.reset();
      held.push(session);
    }
  } catch (refusal) {
    error = String(refusal).slice(0, 200);
  }
  return { open: held.length, error };
}
