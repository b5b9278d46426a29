import { Meter } from "./meter.js";
import type { LoadTask } from "./task.js";

/** Workers that open sessions, seed them and close them, one behind the other. */
export async function churn({ open, sessions, seconds, ready }: LoadTask) {
  ready();
  const meter = new Meter(seconds);
  await Promise.all(
    Array.from({ length: sessions }, async () => {
      for (let begun = meter.begin(); begun !== undefined; begun = meter.begin()) {
        const session = await open();
        await session.reset();
        meter.add(begun);
        await session.close();
      }
    }),
  );
  return { creates_per_s: meter.rate, ...meter.counted(sessions) };
}
