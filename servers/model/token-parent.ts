import type { TokenRecord } from "../../gen/index.js";
import type { CaptureEntry } from "./capture.js";
import { countOf, firstDifference } from "./token-bytes.js";

/** The call that a prompt extends, as far as its tokens are known. */
export interface TokenParent {
  readonly callId: string;
  /** Its token ids, prompt and output whole. */
  readonly ids: Uint8Array;
}

/**
 * The tokens of a captured call whole: those of its parents, its own prompt and the output of its first choice.
 * Undefined: they are not all known.
 */
export function wholeIds(entry: CaptureEntry): Uint8Array | undefined {
  const parts: Uint8Array[] = [];
  let at: CaptureEntry | undefined = entry;
  while (at !== undefined) {
    const record: TokenRecord | undefined = at.record.choices[0]?.tokens;
    if (record === undefined) return undefined;
    parts.unshift(record.promptTokenIds, record.outputTokenIds);
    if (record.parentCallId === "") return Buffer.concat(parts);
    at = at.parent;
  }
  return undefined;
}

/**
 * Leaves out of a record whose prompt is whole what its parent has (MDL-LOGP-008, MDL-LOGP-009). A prompt that does not
 * begin with the parent's tokens, id for id, has no parent in its record: it was tokenised anew.
 */
export function relate(record: TokenRecord, parent: TokenParent | undefined): void {
  if (parent === undefined || firstDifference(record.promptTokenIds, parent.ids) !== undefined) return;
  record.parentCallId = parent.callId;
  record.prefixLen = countOf(parent.ids);
  record.promptTokenIds = record.promptTokenIds.subarray(parent.ids.length);
}
