import { Code, type HandlerContext } from "@connectrpc/connect";
import { CallError } from "../../clients/index.js";
import {
  Boundary,
  type EnvironmentServiceAggregateMetricsRequest,
  type EnvironmentServiceAggregateMetricsResponse,
  type EpisodeServiceAggregateMetricsRequest,
  EpisodeServiceAggregateMetricsRequestSchema,
  FailureKind,
} from "../../gen/index.js";
import { failureOf } from "../runtime/peer-failure.js";
import { invalidField, type ReasonName, Refusal, unsupported } from "../runtime/refusal.js";
import { validate } from "../runtime/validate.js";
import { named } from "./cast.js";
import type { Peers } from "./peers.js";

type Requests = AsyncIterable<EpisodeServiceAggregateMetricsRequest>;

/**
 * Metrics over scored episodes, asked of the environment that the first message names, part by part; nothing is
 * computed here (EPI-METR-001). Throws NAME_UNKNOWN, INVALID_FIELD, what the environment refuses, or its failure.
 */
export async function forwardMetrics(
  { environments }: Pick<Peers, "environments">,
  requests: Requests,
  { signal }: Pick<HandlerContext, "signal">,
): Promise<EnvironmentServiceAggregateMetricsResponse> {
  const parts = requests[Symbol.asyncIterator]();
  const first = await parts.next();
  if (first.done === true)
    throw invalidField("environment", "is required in the first message; there was none");
  const { environment } = first.value;
  const client = named(environments, environment, "environment").client({});
  let ours: unknown;
  async function* passedOn(): AsyncGenerator<EnvironmentServiceAggregateMetricsRequest> {
    try {
      for (let part = first; part.done !== true; part = await parts.next()) {
        const request = checked(part.value, environment);
        if (request !== undefined) yield request;
      }
    } catch (error) {
      ours = error;
      throw error;
    }
  }
  try {
    return await client.aggregateMetrics(passedOn(), { signal });
  } catch (error) {
    throw ours ?? told(error, environment);
  }
}

/** Refusals that speak of what our caller sent. */
const contentReasons: readonly ReasonName[] = [
  "INVALID_FIELD",
  "UNKNOWN_ENUM",
  "MESSAGE_TOO_LARGE",
  "CONTENT_TOO_LARGE",
];

/** What a message hands on. */
function checked(
  message: EpisodeServiceAggregateMetricsRequest,
  environment: string,
): EnvironmentServiceAggregateMetricsRequest | undefined {
  validate(EpisodeServiceAggregateMetricsRequestSchema, message);
  if (message.environment !== "" && message.environment !== environment) {
    throw invalidField("environment", `expected "${environment}", as in the first message, or nothing`);
  }
  return message.request;
}

/** What the environment said of the call, as this server's own word. */
function told(error: unknown, environment: string): unknown {
  if (!(error instanceof CallError)) return error;
  if (error.code === Code.Unimplemented) return unsupported("METRICS", `environment "${environment}"`);
  const reason = contentReasons.find((known) => known === error.reason);
  if (reason !== undefined) {
    const violations = error.violations.map(({ field, description }) => ({
      field: `request.${field}`,
      description,
    }));
    return new Refusal(reason, error.rawMessage, { violations });
  }
  return failureOf(error, { boundary: Boundary.ENVIRONMENT, lost: FailureKind.UNAVAILABLE });
}
