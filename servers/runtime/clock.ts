import { type Clock as ClientClock, machineClock, type Timer } from "../../clients/clock.js";

export type { Timer };

/** Time as the runtime sees it. Injected wherever time matters, so that tests need not wait. */
export interface Clock extends ClientClock {
  /** The time of day, for records that people read. */
  date(): Date;
}

/** The machine's own time. Its timers do not keep the process alive: a server's port does. */
export const systemClock: Clock = { ...machineClock({ keepsAlive: false }), date: () => new Date() };
