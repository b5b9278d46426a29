import { admissionMutants } from "./admissions.js";
import { closeMutants } from "./close.js";
import { describeMutants } from "./describe.js";
import { errorMutants } from "./errors.js";
import { idMutants } from "./ids.js";
import { leaseMutants } from "./leases.js";
import { listingMutants } from "./listing.js";
import { lostCallMutants } from "./lost-calls.js";
import type { Mutant } from "./mutant.js";
import { orderMutants, refusalMutants } from "./order.js";
import { payloadMutants } from "./payloads.js";
import { playerMutants } from "./players.js";
import { principalMutants, privacyMutants } from "./principals.js";
import { repeatMutants } from "./repeats.js";
import { seedMutants } from "./seeds.js";
import { stageMutants } from "./stages.js";
import { stepMutants } from "./steps.js";
import { streamMutants } from "./streams.js";
import { verdictMutants } from "./verdicts.js";
import { watchMutants } from "./watching.js";

/** Every server that breaks one clause. */
export const allMutants: readonly Mutant[] = [
  ...repeatMutants,
  ...orderMutants,
  ...refusalMutants,
  ...errorMutants,
  ...closeMutants,
  ...leaseMutants,
  ...idMutants,
  ...describeMutants,
  ...seedMutants,
  ...stepMutants,
  ...streamMutants,
  ...verdictMutants,
  ...stageMutants,
  ...watchMutants,
  ...playerMutants,
  ...listingMutants,
  ...lostCallMutants,
  ...admissionMutants,
  ...principalMutants,
  ...privacyMutants,
  ...payloadMutants,
];
