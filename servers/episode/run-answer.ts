import { create } from "@bufbuild/protobuf";
import { z } from "zod";
import { ArtifactSchema, FailureKind, MaskSchema, Retry, VerdictSchema } from "../../gen/index.js";
import { cutText, OperationFailure } from "../runtime/failure.js";
import type { DeclaredRange } from "./check-verdict.js";
import type { Played } from "./outside-play.js";

/** What a service answers that plays an episode; whatever else it says is kept as it is. */
const answer = z.looseObject({
  reward: z.number(),
  reward_components: z.record(z.string(), z.number()).default({}),
  mask_sample: z.boolean().default(false),
  failure_kind: z.string().nullish(),
  failure_reason: z.string().nullish(),
});

/** Marks an answer whose reward was made up because the judge, or something else, failed. */
const failureClass = "_ng_failure_class";
/** Keys of a row that say which one it is; an answer repeats its row. */
const identities = [
  "_ng_task_index",
  "_ng_rollout_index",
  "_ng_rollout_id",
  "task_id",
  "uuid",
  "id",
] as const;
/** JSON has no such numbers; Python writes them all the same. */
const noNumber = /"reward"\s*:\s*(-?(?:NaN|Infinity))\b/;
/** Bytes of an answer that are kept as an artifact (action.proto). */
const keptBytes = 1 << 20;

/**
 * Reads the answer of a service that played the episode of `row`. Throws a failure where it holds no reward that was
 * measured: none is ever made up (R8, field-case-029).
 */
export function readRunAnswer(text: string, row: string, range: DeclaredRange): Played {
  const value = parse(text);
  checkRow(value, JSON.parse(row));
  checkClass(value);
  const parsed = answer.safeParse(value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw unreadable(`${issue?.path.join(".") || "it"}: ${issue?.message ?? "is not what was expected"}`);
  }
  const { reward, reward_components: components, mask_sample: masked } = parsed.data;
  const { failure_kind: kind, failure_reason: why } = parsed.data;
  return {
    verdict: create(VerdictSchema, {
      reward: { value: reward },
      components,
      ...(masked
        ? { masked: create(MaskSchema, { reason: kind || "masked", explanation: cutText(why ?? "", 2000) }) }
        : {}),
      provenance: {},
    }),
    range,
    artifacts: [whole(text)],
  };
}

function parse(text: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    const [, found] = noNumber.exec(text) ?? [];
    if (found !== undefined) {
      throw new OperationFailure({
        kind: FailureKind.INVALID_REWARD,
        retry: Retry.NEVER,
        reason: `the service's reward is ${found}, which is no finite number`,
      });
    }
    throw unreadable("it is no JSON");
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
  throw unreadable("it is no JSON object");
}

/** An answer to another row than the one that was posted is nobody's score. */
function checkRow(value: Readonly<Record<string, unknown>>, row: Readonly<Record<string, unknown>>): void {
  const other = identities.find((key) => key in row && key in value && row[key] !== value[key]);
  if (other !== undefined) throw unreadable(`${other}: it is of another row than the one that was posted`);
}

/** A reward beside the word that something failed was not measured. */
function checkClass(value: Readonly<Record<string, unknown>>): void {
  const told = value[failureClass];
  if (typeof told !== "string" || told === "") return;
  const judge = told.startsWith("judge");
  throw new OperationFailure({
    kind: judge ? FailureKind.JUDGE_UNREACHABLE : FailureKind.VERIFIER_FAILED,
    retry: Retry.NEW_ATTEMPT,
    reason: `the service told ${cutText(told, 200)} beside its reward, which was not measured`,
    detailsJson: JSON.stringify({ [failureClass]: cutText(told, 200) }),
  });
}

/** The answer whole, so that nothing of it is lost. */
function whole(text: string) {
  const bytes = Buffer.from(text);
  const body =
    bytes.length <= keptBytes
      ? ({ case: "inline", value: bytes } as const)
      : ({
          case: "missingReason",
          value: `its ${bytes.length} bytes are more than the ${keptBytes} kept`,
        } as const);
  return create(ArtifactSchema, { name: "answer.json", mediaType: "application/json", body });
}

function unreadable(found: string): OperationFailure {
  return new OperationFailure({
    kind: FailureKind.PROTOCOL_VIOLATION,
    retry: Retry.NEVER,
    reason: cutText(`the service's answer cannot be read: ${found}`, 2000),
  });
}
