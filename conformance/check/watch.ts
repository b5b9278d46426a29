import type { CatalogueEntry } from "../catalogue/catalogue.js";
import type { Seen } from "../subject/seen.js";
import { type Judge, judgeOf } from "./judge.js";

/**
 * A clause about everything: judged on all that the other checks of a run see, each thing as it comes. It passes where
 * it judged at least once and nothing was wrong.
 */
export interface Watch {
  /** `ALL-ERR-001.every-refusal` */
  readonly id: string;
  readonly clause: string;
  readonly title: string;
  /** Why the clause does not arise for this subject; absent: it does. */
  readonly notApplicable?: string | undefined;
  /** Judges one thing, or leaves it. Throws a Finding. */
  see(seen: Seen, judge: Judge): void;
}

/** What a watch says of itself. */
export interface WatchInit {
  /** Clause id, a literal. */
  readonly clause: string;
  readonly name: string;
  readonly title: string;
  readonly notApplicable?: string | undefined;
}

/** Defines a watch. */
export function watch(init: WatchInit, see: Watch["see"]): Watch {
  const { name, ...rest } = init;
  return { id: `${init.clause}.${name}`, ...rest, see };
}

/** A watch at work: what it has found so far. */
export interface Watching {
  readonly watch: Watch;
  readonly judge: Judge;
  /** The first thing that was wrong, thrown by `see`. */
  readonly wrong: unknown;
  see(seen: Seen): void;
}

/** Begins to watch. */
export function beginWatch(of: Watch, entry: CatalogueEntry): Watching {
  const judge = judgeOf(entry);
  let wrong: unknown;
  return {
    watch: of,
    judge,
    get wrong() {
      return wrong;
    },
    see(seen) {
      if (wrong !== undefined) return;
      try {
        of.see(seen, judge);
      } catch (error) {
        wrong = error;
      }
    },
  };
}
