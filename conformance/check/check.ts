import type { Feature } from "../../gen/index.js";
import type { Profile } from "../catalogue/profile.js";
import type { Stack } from "../subject/connection.js";

/**
 * Where a check stands in a run:
 * - `parallel`: beside others, in random order;
 * - `waiting`: mostly waits (a lease, a timeout): all of these side by side;
 * - `alone`: measures time or loads the subject: nothing beside it;
 * - `capacity`: fills the subject: alone, and last;
 * - `process`: needs a subject that the runner starts and stops: on a process of its own.
 */
export type Lane = "parallel" | "waiting" | "alone" | "capacity" | "process";

/** One question to a subject, and what makes the answer right. `T` is what its profile's checks work with. */
export interface Check<T> {
  /** `ENV-STEP-017.by-action-id`: the clause that it judges, and what is particular. Unique, never reused. */
  readonly id: string;
  /** Clause that it judges. */
  readonly clause: string;
  readonly profile: Profile;
  /** One sentence: what is done and what must come. */
  readonly title: string;
  /** Features that it uses beside those of its clause: without them it does not apply. */
  readonly features: readonly Feature[];
  readonly lane: Lane;
  /** Seconds at `--time-scale 1` after which it hangs. A watchdog, not a bound of the clause. */
  readonly within: number;
  /** It sends what the contract forbids, to see that it is refused. */
  readonly sendsInvalid: boolean;
  /** It can harm a server that others use: only with `--allow-destructive` against a target. */
  readonly destructive: boolean;
  /** It takes minutes by its nature: only with `--slow`. */
  readonly slow: boolean;
  /** Libraries that it runs on. */
  readonly stacks: readonly Stack[];
  run(t: T): Promise<void>;
}

/** What a check says of itself; the rest has defaults. */
export interface CheckInit {
  /** Clause id, a literal. */
  readonly clause: string;
  /** kebab-case, unique with the clause in its profile. */
  readonly name: string;
  readonly title: string;
  readonly features?: readonly Feature[];
  readonly lane?: Lane;
  readonly within?: number;
  readonly sendsInvalid?: boolean;
  readonly destructive?: boolean;
  readonly slow?: boolean;
  readonly stacks?: readonly Stack[];
}

const usualWatchdogSeconds = 10;

/** Makes the function by which the cases of a profile define their checks. */
export function checksOf<T>(profile: Profile): (init: CheckInit, run: (t: T) => Promise<void>) => Check<T> {
  return (init, run) => ({
    id: `${init.clause}.${init.name}`,
    clause: init.clause,
    profile,
    title: init.title,
    features: init.features ?? [],
    lane: init.lane ?? "parallel",
    within: init.within ?? usualWatchdogSeconds,
    sendsInvalid: init.sendsInvalid ?? false,
    destructive: init.destructive ?? false,
    slow: init.slow ?? false,
    stacks: init.stacks ?? ["connect-node"],
    run,
  });
}
