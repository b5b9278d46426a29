import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type EnvironmentServiceAggregateMetricsRequest,
  EnvironmentServiceAggregateMetricsRequestSchema,
  type EnvironmentServiceAggregateMetricsResponse,
  EnvironmentServiceAggregateMetricsResponseSchema,
  type MetricSchema,
  type Verdict,
} from "../../../gen/index.js";
import { invalidField } from "../../runtime/refusal.js";
import { validate } from "../../runtime/validate.js";

/** Names of metrics at most, so that the answer can be delivered. */
const maximumNames = 10_000;

/** Metrics over scored episodes; a failure, a masked and an unscored verdict are counted and never averaged (ENV-METR-001, -004, -005). */
export async function aggregateMetrics(
  requests: AsyncIterable<EnvironmentServiceAggregateMetricsRequest>,
): Promise<EnvironmentServiceAggregateMetricsResponse> {
  const values = new Map<string, number[]>();
  const note = (name: string, value: number): void => {
    if (!Number.isFinite(value)) {
      throw invalidField(`episodes.outcome.verdict.${name}`, `expected a finite number, found ${value}`);
    }
    const known = values.get(name);
    if (known === undefined) {
      if (values.size >= maximumNames) {
        throw invalidField(
          "episodes",
          `expected at most ${maximumNames} names of metrics in all, found more`,
        );
      }
      values.set(name, [value]);
    } else known.push(value);
  };
  const counts = { scored: 0n, masked: 0n, unscored: 0n, failed: 0n };
  for await (const request of requests) {
    validate(EnvironmentServiceAggregateMetricsRequestSchema, request);
    for (const { outcome } of request.episodes) {
      const kind = outcome.case === "verdict" ? kindOf(outcome.value) : "failed";
      counts[kind] += 1n;
      if (kind === "scored" && outcome.case === "verdict") noteVerdict(outcome.value, note);
    }
  }
  // Codepoint order, which no locale changes.
  const names = [...values.keys()].sort((a, b) => (a < b ? -1 : 1));
  return create(EnvironmentServiceAggregateMetricsResponseSchema, {
    metrics: names.map((name) => metricOf(name, values.get(name) ?? [])),
    ...counts,
  });
}

function kindOf({ reward, masked }: Verdict): "scored" | "masked" | "unscored" {
  if (masked !== undefined) return "masked";
  return reward === undefined ? "unscored" : "scored";
}

function noteVerdict(verdict: Verdict, note: (name: string, value: number) => void): void {
  if (verdict.reward !== undefined) note("mean_reward", verdict.reward.value);
  if (verdict.success !== undefined) note("success_rate", verdict.success ? 1 : 0);
  for (const [name, value] of Object.entries(verdict.components)) note(`component/${name}`, value);
  for (const [name, value] of Object.entries(verdict.metrics)) note(`metric/${name}`, value);
}

/** The mean; of sorted values, so that it does not depend on the order in which they came (ENV-METR-002). */
function metricOf(name: string, values: number[]): MessageInitShape<typeof MetricSchema> {
  // Each part is divided before it is added: the sum of great numbers is none.
  const mean = values.sort((a, b) => a - b).reduce((total, value) => total + value / values.length, 0);
  return { name, value: mean, count: BigInt(values.length) };
}
