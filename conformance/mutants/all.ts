import { closeMutants } from "./close.js";
import { leaseMutants } from "./leases.js";
import type { Mutant } from "./mutant.js";
import { repeatMutants } from "./repeats.js";

/** Every server that breaks one clause. */
export const allMutants: readonly Mutant[] = [...repeatMutants, ...closeMutants, ...leaseMutants];
