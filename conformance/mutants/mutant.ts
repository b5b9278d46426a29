import type { Parts } from "../reference/parts.js";
import type { VariantName } from "../reference/variants.js";
import type { EpisodeBuild } from "./episodes/seams.js";

/** Puts a fault into a server. */
export type Build = (parts: Parts) => Parts;

/** An episode server that breaks one clause, with the same rules. */
export type EpisodeMutant = Omit<Mutant, "build" | "variant"> & { readonly build: EpisodeBuild };

/** A server that breaks one clause: a check of the clause must see it. */
export interface Mutant {
  /** As `mutants` of the clause in requirements/*.yaml says. */
  readonly name: string;
  /** The clause that it breaks. */
  readonly clause: string;
  /** One sentence: what it does wrong. */
  readonly what: string;
  /** The launch that shows it. Default: full. */
  readonly variant?: VariantName;
  /** Checks run beside those of the clause's area, where these alone do not show it. */
  readonly also?: readonly string[];
  /** Checks run in the place of those of the area, where these would wait for long. */
  readonly area?: readonly string[];
  readonly build: Build;
}
