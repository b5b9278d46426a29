import { create } from "@bufbuild/protobuf";
import { z } from "zod";
import {
  type Declarations,
  DeclarationsSchema,
  Determinism,
  type EnvironmentServiceDescribeResponse,
  EnvironmentServiceDescribeResponseSchema,
  Feature,
  Placement,
  RewardTiming,
  VerifyIsolation,
} from "../../gen/index.js";
import { serviceInfo } from "../runtime/describe.js";
import type { EnvironmentDefinition } from "./define-environment.js";
import type { RewardSpec } from "./definition/reward-spec.js";
import type { EnvironmentContext } from "./environment-context.js";
import type { PreparedEnvironment } from "./prepared-environment.js";
import { maxPipelinedSteps } from "./stream/ready-queue.js";

const timings: Record<RewardSpec["timing"], RewardTiming> = {
  terminal: RewardTiming.TERMINAL,
  step: RewardTiming.STEP,
  hybrid: RewardTiming.HYBRID,
};
const determinisms: Record<EnvironmentDefinition<unknown, unknown>["determinism"], Determinism> = {
  seeded: Determinism.SEEDED,
  stochastic: Determinism.STOCHASTIC,
  unknown: Determinism.UNKNOWN,
};

/** What holds for sessions, as Describe tells it. */
export function declarationsOf<D, S>(
  definition: EnvironmentDefinition<D, S>,
  prepared: PreparedEnvironment<S>,
): Declarations {
  const { reward } = definition;
  return create(DeclarationsSchema, {
    reward: {
      timing: timings[reward.timing],
      stepReward: prepared.stepReward,
      minimum: reward.minimum,
      maximum: reward.maximum,
      components: [...(reward.components ?? [])],
      rewardVisible: reward.visible ?? false,
    },
    determinism: determinisms[definition.determinism],
    actionKinds: [...prepared.actionKinds],
    actionSpace: [...(definition.actionSpace ?? [])],
    observationSpace: [...(definition.observationSpace ?? [])],
    tools: [...prepared.tools.values()].map(({ described }) => described),
    simultaneousTurns: definition.simultaneousTurns ?? false,
  });
}

/** Features that a definition has by what it defines. */
function featuresOf<D, S>(definition: EnvironmentDefinition<D, S>, hasSteps: boolean): Feature[] {
  const features: Feature[] = [Feature.METRICS, Feature.BLOBS];
  if (definition.tools !== undefined) features.push(Feature.TOOLS);
  if (hasSteps) features.push(Feature.STEP, Feature.STEP_STREAM, Feature.STEP_BATCH, Feature.WATCH_STEPS);
  if (definition.fork !== undefined) features.push(Feature.FORK);
  if (definition.splits !== undefined) features.push(Feature.TASK_LISTING);
  if (definition.advance !== undefined) features.push(Feature.STAGES);
  if (definition.stateless === true) features.push(Feature.STATELESS_VERIFY);
  if (definition.agents !== undefined) features.push(Feature.MULTI_AGENT);
  if (definition.tools !== undefined && definition.strictArguments === true)
    features.push(Feature.STRICT_ARGUMENTS);
  return features;
}

function jsonSchema(schema: z.ZodType | undefined): string {
  return schema === undefined ? "" : JSON.stringify(z.toJSONSchema(schema, { io: "input" }));
}

/** What the environment says of itself. */
export function describeEnvironment<D, S>({
  runtime,
  definition,
  prepared,
  catalogue,
}: Pick<
  EnvironmentContext<D, S>,
  "runtime" | "definition" | "prepared" | "catalogue"
>): EnvironmentServiceDescribeResponse {
  const { hasSteps } = prepared;
  return create(EnvironmentServiceDescribeResponseSchema, {
    service: serviceInfo(runtime, {
      name: definition.name,
      version: definition.version,
      features: featuresOf(definition, hasSteps),
    }),
    environment: definition.name,
    declarations: declarationsOf(definition, prepared),
    placements: [Placement.NONE],
    verifyIsolations: [VerifyIsolation.NONE_NEEDED],
    publicSchemaJson: jsonSchema(definition.publicSchema),
    privilegedSchemaJson: jsonSchema(definition.privilegedSchema),
    rowSchemas: [...(definition.rowSchemas ?? [])],
    maxPipelinedSteps: hasSteps ? maxPipelinedSteps : 0,
    splits: [...(catalogue?.described ?? [])],
    samples: [...(definition.samples?.() ?? [])],
    agents: [...(definition.agents ?? [])],
  });
}
