import { create } from "@bufbuild/protobuf";
import { modelClient } from "../../clients/index.js";
import {
  Boundary,
  FailureKind,
  type GenerateRequest,
  GenerateRequestSchema,
  type GenerateResponse,
  type ModelAccess,
  ModelDialect,
} from "../../gen/index.js";
import type { Dial } from "../runtime/dial.js";
import { failureOf } from "../runtime/peer-failure.js";
import { Refusal } from "../runtime/refusal.js";

/** A session's model. */
export interface ModelPeer {
  readonly dialect: ModelDialect;
  /** Asks once; never re-sent once it may have been delivered (ALL-REPEAT-020). */
  generate(request: GenerateRequest, signal: AbortSignal): Promise<GenerateResponse>;
}

/** Dialects that these agents speak, best first. */
export const spokenDialects = [ModelDialect.TOUCHSTONE_V1];

/** Takes the first access in a dialect that is spoken; none fitting is refused (AGT-OPEN-009). */
export function openModel(accesses: readonly ModelAccess[], dial: Dial): ModelPeer {
  const access = accesses.find(({ dialect }) => spokenDialects.includes(dialect));
  if (access === undefined) {
    const offered =
      accesses.map(({ dialect }) => ModelDialect[dialect] ?? String(dialect)).join(", ") || "none";
    const description = `this agent needs a model in a dialect of ${spokenDialects.map((d) => ModelDialect[d]).join(", ")}; offered: ${offered}`;
    throw new Refusal("UNSATISFIED_REQUIREMENT", `model_accesses: ${description}`, {
      violations: [{ field: "model_accesses", description }],
    });
  }
  const client = modelClient(dial({ url: access.baseUrl }), {
    headers: { authorization: `Bearer ${access.apiKey}` },
  });
  return {
    dialect: access.dialect,
    async generate(request, signal) {
      try {
        return await client.generate(create(GenerateRequestSchema, request), { signal });
      } catch (error) {
        // AGT-ACT-010: a dead or erring model is a failure whose cause is the model.
        throw failureOf(error, { boundary: Boundary.MODEL, lost: FailureKind.MODEL_UNAVAILABLE });
      }
    },
  };
}
