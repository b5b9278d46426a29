import { type StepRequest, StepRequestSchema } from "../../../gen/index.js";
import type { BlobReader } from "../../runtime/blobs/blob-store.js";
import { resolveRefs } from "../../runtime/blobs/resolve-refs.js";
import type { ReadAction } from "./check-step.js";

/** Whose blobs the actions of a step may refer to, and how many bytes of them. */
export interface StepBlobs {
  readonly reader: BlobReader;
  readonly maxBytes: number;
}

/**
 * The actions of a step with the bytes that they refer to, read when it begins: a repeat is answered though they have gone
 * (R2). Throws the refusal of a reference that cannot be read, by its path.
 */
export function withBlobs(
  actions: readonly ReadAction[],
  request: StepRequest,
  { reader, maxBytes }: StepBlobs,
): readonly ReadAction[] {
  // A tool call refers to none; this is the hot path.
  if (actions.every(({ call }) => call !== undefined)) return actions;
  const resolved = resolveRefs(reader, { schema: StepRequestSchema, within: "", maxBytes }, request);
  if (resolved === request) return actions;
  return actions.map((read, i) => ({ ...read, action: resolved.actions[i] ?? read.action }));
}
