import type { LoadSession } from "../points/point.js";
import { Meter } from "./meter.js";
import type { LoadTask } from "./task.js";

/** Opens the sessions, then steps each as fast as it answers; one that is over begins anew. */
export async function play({ open, sessions, seconds, ready }: LoadTask) {
  const opened: LoadSession[] = [];
  for (let i = 0; i < sessions; i += 1) {
    const session = await open();
    await session.reset();
    opened.push(session);
  }
  ready();
  const meter = new Meter(seconds);
  await Promise.all(
    opened.map(async (session) => {
      for (let begun = meter.begin(); begun !== undefined; begun = meter.begin()) {
        const over = await session.step();
        meter.add(begun);
        if (over) await session.reset();
      }
    }),
  );
  for (const session of opened) await session.close();
  return { steps_per_s: meter.rate, ...meter.counted(sessions) };
}
