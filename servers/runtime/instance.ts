import { newId } from "./identity.js";

/**
 * The id of a server process. R2, R5 and R6 hold within one: it changes whenever records were lost, so a server that
 * keeps its records in memory gets a new one at each start (R14, ALL-DESC-003).
 */
export function newInstanceId(): string {
  return newId("i");
}

/** Header of every answer, refusals included (ALL-SCOPE-001). */
export const instanceHeader = "touchstone-instance";
/** Trailer that tells how an answer came about (ALL-REPEAT-019). */
export const deliveryTrailer = "touchstone-delivery";
/** Request metadata: one value for all calls of an episode and its forks (ALL-SCOPE-004). */
export const keyHeader = "touchstone-key";
