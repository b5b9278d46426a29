import { modelClient } from "../../clients/index.js";
import {
  Boundary,
  FailureKind,
  type GenerateRequest,
  type GenerateResponse,
  type ModelAccess,
  ModelDialect,
} from "../../gen/index.js";
import type { Dial } from "../runtime/dial.js";
import { invalidField, Refusal } from "../runtime/refusal.js";
import { accessHeaders, failureOfAccess } from "./granted-access.js";

/** A session's model. */
export interface ModelPeer {
  readonly dialect: ModelDialect;
  /** Asks once; never re-sent once it may have been delivered (ALL-REPEAT-020). */
  generate(request: GenerateRequest, signal: AbortSignal): Promise<GenerateResponse>;
}

/** Dialects that these agents speak, best first. */
export const spokenDialects = [ModelDialect.TOUCHSTONE_V1];

/** How a session's peers are reached. */
export interface PeerOptions {
  readonly dial: Dial;
  /** The episode's key for the metadata of all calls. */
  readonly key: string;
}

/** Takes the first access in a dialect that is spoken; none fitting is refused (AGT-OPEN-009). Nothing is connected yet. */
export function openModel(accesses: readonly ModelAccess[], { dial, key }: PeerOptions): ModelPeer {
  const index = accesses.findIndex(({ dialect }) => spokenDialects.includes(dialect));
  const access = accesses[index];
  if (access === undefined) throw unspoken(accesses);
  const client = modelClient(channelTo(access, index, dial), { headers: accessHeaders(access.apiKey, key) });
  return {
    dialect: access.dialect,
    async generate(request, signal) {
      try {
        return await client.generate(request, { signal });
      } catch (error) {
        // AGT-ACT-010: a dead or erring model is a failure whose cause is the model.
        throw failureOfAccess(error, { boundary: Boundary.MODEL, lost: FailureKind.MODEL_UNAVAILABLE });
      }
    },
  };
}

function channelTo({ baseUrl }: ModelAccess, index: number, dial: Dial): ReturnType<Dial> {
  try {
    return dial({ url: baseUrl });
  } catch {
    throw invalidField(
      `model_accesses[${index}].base_url`,
      "expected http://host:port, https://host:port or unix:///path, found something else",
    );
  }
}

function unspoken(accesses: readonly ModelAccess[]): Refusal {
  const names = (dialects: readonly ModelDialect[]) =>
    dialects.map((dialect) => ModelDialect[dialect] ?? String(dialect)).join(", ") || "none";
  const offered = names(accesses.map(({ dialect }) => dialect));
  const description = `this agent needs a model in a dialect of ${names(spokenDialects)}; offered: ${offered}`;
  return new Refusal("UNSATISFIED_REQUIREMENT", `model_accesses: ${description}`, {
    violations: [{ field: "model_accesses", description }],
  });
}
