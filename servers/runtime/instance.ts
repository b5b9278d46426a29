import { newId } from "./identity.js";

/**
 * The id of a server process. R2, R5 and R6 hold within one: it changes whenever records were lost, so a server that
 * keeps its records in memory gets a new one at each start (R14, ALL-DESC-003).
 */
export function newInstanceId(): string {
  return newId("i");
}
