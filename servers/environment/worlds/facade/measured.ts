import { create } from "@bufbuild/protobuf";
import { rpcName } from "../../../../clients/index.js";
import {
  Boundary,
  CauseSchema,
  Delivery,
  EnvironmentService,
  type Failure,
  type Verdict,
  type VerifyResult,
} from "../../../../gen/index.js";
import { OperationFailure } from "../../../runtime/failure.js";
import type { Measured } from "../../definition/verifying.js";
import { wrong } from "./part.js";

/** What another environment measured, as measured here. Throws its failure, with this boundary as a cause. */
export function measuredElsewhere({ outcome }: VerifyResult): Measured {
  switch (outcome.case) {
    case "verdict":
      return measuredBy(outcome.value);
    case "failure":
      throw toldFailure(outcome.value);
    case undefined:
      throw wrong("ended Verify with neither a verdict nor a failure");
  }
}

function measuredBy({
  reward,
  components,
  success,
  masked,
  metrics,
  diagnosticsJson,
  limitHit,
  provenance,
}: Verdict): Measured {
  const limit = (["time", "memory", "processes", "output"] as const).find((known) => known === limitHit);
  return {
    ...(reward === undefined ? {} : { reward: reward.value }),
    components,
    ...(success === undefined ? {} : { success }),
    ...(masked === undefined ? {} : { masked }),
    metrics,
    diagnostics: {
      ...(diagnosticsJson === "" ? {} : (JSON.parse(diagnosticsJson) as object)),
      verified_by: `${provenance?.implementation}@${provenance?.version}`,
    },
    ...(limit === undefined ? {} : { limitHit: limit }),
  };
}

function toldFailure(failure: Failure): OperationFailure {
  const cause = create(CauseSchema, {
    boundary: Boundary.ENVIRONMENT,
    kind: failure.kind,
    rpc: rpcName(EnvironmentService.method.verify),
    delivery: Delivery.DELIVERED,
  });
  return new OperationFailure({ ...failure, causes: [cause, ...failure.causes].slice(0, 8) });
}
