import { create } from "@bufbuild/protobuf";
import { type Boundary, CauseSchema, Delivery, type Failure, FailureKind, Retry } from "../../gen/index.js";
import { type FailureInit, OperationFailure } from "../runtime/failure.js";

/** Who told a failure in its answer. */
export interface AnsweredBy {
  readonly boundary: Boundary;
  /** Full name of the rpc. */
  readonly rpc: string;
}

/** A failure that a peer recorded and told in its answer, as one of ours: its own words, and who saw it (ALL-FAIL-007). */
export function answeredFailure(
  failure: Failure | undefined,
  { boundary, rpc }: AnsweredBy,
): OperationFailure {
  const told: FailureInit = failure ?? {
    kind: FailureKind.PROTOCOL_VIOLATION,
    retry: Retry.NEVER,
    reason: `${rpc} told that it failed, and no failure`,
  };
  const kind = told.kind ?? FailureKind.UNSPECIFIED;
  const cause = create(CauseSchema, { boundary, kind, rpc, delivery: Delivery.DELIVERED });
  return new OperationFailure({ ...told, causes: [cause, ...(failure?.causes ?? [])].slice(0, 8) });
}
