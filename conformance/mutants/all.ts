import { closeMutants } from "./close.js";
import { errorMutants } from "./errors.js";
import { leaseMutants } from "./leases.js";
import type { Mutant } from "./mutant.js";
import { orderMutants, refusalMutants } from "./order.js";
import { repeatMutants } from "./repeats.js";

/** Every server that breaks one clause. */
export const allMutants: readonly Mutant[] = [
  ...repeatMutants,
  ...orderMutants,
  ...refusalMutants,
  ...errorMutants,
  ...closeMutants,
  ...leaseMutants,
];
