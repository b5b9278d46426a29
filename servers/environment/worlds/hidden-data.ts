import { createHash } from "node:crypto";
import { z } from "zod";

/**
 * A text that is planted in the privileged data of a generated task: wherever else it turns up, privileged data has
 * leaked (R16).
 */
export function canary(...names: readonly (string | number)[]): string {
  return `CANARY-${createHash("sha256").update(names.join("/")).digest("hex").slice(0, 24)}`;
}

/** The member of a task's privileged data that holds its canary, where it has one. */
export const canaryField = z.string().optional().describe("Must turn up nowhere else.");

/** JSON as a task's privileged data. */
export function hidden(value: object): { readonly data: Uint8Array; readonly mediaType: string } {
  return { data: new TextEncoder().encode(JSON.stringify(value)), mediaType: "application/json" };
}
