import type { Judge } from "../../check/judge.js";
import { watch } from "../../check/watch.js";
import { instanceHeader } from "../../subject/metadata.js";
import type { CallStatus } from "../../subject/reply.js";

const isCount = (text: string | undefined): boolean => text !== undefined && /^\d+$/.test(text);

/** Keys that a reason carries, as the contract's table has them, and what is true of each. */
const keysOf: Readonly<Record<string, readonly string[]>> = {
  INVALID_FIELD: ["field"],
  UNKNOWN_ENUM: ["field"],
  UNENFORCEABLE: ["field"],
  OUT_OF_ORDER: ["expected_index"],
  ADMISSION_TIMEOUT: ["limit"],
  MESSAGE_TOO_LARGE: ["limit", "actual"],
  CONTENT_TOO_LARGE: ["limit", "actual"],
  FEATURE_UNSUPPORTED: ["feature"],
  OPERATION_FAILED: ["answer_id"],
};

function judgeMetadata(judge: Judge, { reason, metadata, fields }: CallStatus, headers: Headers): void {
  for (const key of keysOf[reason] ?? []) {
    judge.that(`metadata ${key} of ${reason}`, (metadata[key] ?? "") !== "", {
      expected: "to be set",
      actual: Object.keys(metadata),
    });
  }
  const { field, expected_index: index, limit, actual, instance_id: instance } = metadata;
  if (field !== undefined && fields.length > 0) {
    judge.that("metadata field", fields.includes(field), {
      expected: `one of BadRequest's ${fields.join(", ")}`,
      actual: field,
    });
  }
  for (const [key, count] of Object.entries({ expected_index: index, limit, actual })) {
    if (count !== undefined) {
      judge.that(`metadata ${key}`, isCount(count), { expected: "a whole number", actual: count });
    }
  }
  if (isCount(limit) && isCount(actual)) {
    judge.that("metadata actual", Number(actual) > Number(limit), {
      expected: `above the limit of ${limit}`,
      actual,
    });
  }
  if (instance !== undefined) judge.equal("metadata instance_id", instance, headers.get(instanceHeader));
}

/** R4: what ErrorInfo tells programs beside its reason. */
export const errorMetadataWatch = watch(
  {
    clause: "ALL-ERR-007",
    name: "every-error",
    title: "Every error carries the keys of its reason in ErrorInfo.metadata, with true values.",
  },
  (seen, judge) => {
    if (seen.kind !== "end" || seen.status?.domain !== "touchstone") return;
    judgeMetadata(judge, seen.status, seen.metadata);
  },
);
