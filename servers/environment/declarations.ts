import { create } from "@bufbuild/protobuf";
import { z } from "zod";
import {
  ActionKind,
  type Declarations,
  DeclarationsSchema,
  Determinism,
  type EnvironmentServiceDescribeResponse,
  EnvironmentServiceDescribeResponseSchema,
  Feature,
  Placement,
  RewardTiming,
  StepReward,
  VerifyIsolation,
} from "../../gen/index.js";
import { serviceInfo } from "../runtime/describe.js";
import type { Runtime } from "../runtime/runtime.js";
import type { EnvironmentDefinition, RewardSpec } from "./define-environment.js";
import { maxPipelinedSteps } from "./step-stream.js";
import { describeTool } from "./tool.js";

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

/** How the steps of a definition are rewarded. TERMINAL goes with NONE, STEP and HYBRID with the others (ENV-DESC-002). */
export function stepRewardOf(reward: RewardSpec): StepReward {
  if (reward.timing === "terminal") return StepReward.NONE;
  return reward.stepReward === "cumulative" ? StepReward.CUMULATIVE : StepReward.DELTA;
}

/** Kinds of action that a definition takes; none where it has no steps (ENV-DESC-004). */
export function actionKindsOf<D, S>(definition: EnvironmentDefinition<D, S>): ActionKind[] {
  const kinds: ActionKind[] = [];
  if (definition.step !== undefined) {
    for (const kind of definition.stepKinds ?? ["items"]) {
      kinds.push(kind === "items" ? ActionKind.ITEMS : ActionKind.CONTENT);
    }
  }
  if (definition.tools !== undefined) kinds.push(ActionKind.TOOL_CALL);
  return kinds;
}

/** What holds for sessions, as Describe tells it. */
export function declarationsOf<D, S>(definition: EnvironmentDefinition<D, S>): Declarations {
  const { reward } = definition;
  return create(DeclarationsSchema, {
    reward: {
      timing: timings[reward.timing],
      stepReward: stepRewardOf(reward),
      minimum: reward.minimum,
      maximum: reward.maximum,
      components: [...(reward.components ?? [])],
      rewardVisible: reward.visible ?? false,
    },
    determinism: determinisms[definition.determinism],
    actionKinds: actionKindsOf(definition),
    tools: Object.entries(definition.tools ?? {}).map(([name, tool]) => describeTool(name, tool)),
  });
}

/** Features that a definition has by what it defines. */
export function featuresOf<D, S>(definition: EnvironmentDefinition<D, S>): Feature[] {
  const features: Feature[] = [];
  if (definition.tools !== undefined) features.push(Feature.TOOLS);
  if (definition.tools !== undefined || definition.step !== undefined)
    features.push(Feature.STEP, Feature.STEP_STREAM);
  return features;
}

function jsonSchema(schema: z.ZodType | undefined): string {
  return schema === undefined ? "" : JSON.stringify(z.toJSONSchema(schema));
}

/** What the environment says of itself. */
export function describeEnvironment<D, S>(
  runtime: Runtime,
  definition: EnvironmentDefinition<D, S>,
): EnvironmentServiceDescribeResponse {
  return create(EnvironmentServiceDescribeResponseSchema, {
    service: serviceInfo(runtime, {
      name: definition.name,
      version: definition.version,
      features: featuresOf(definition),
    }),
    environment: definition.name,
    declarations: declarationsOf(definition),
    placements: [Placement.NONE],
    verifyIsolations: [VerifyIsolation.NONE_NEEDED],
    publicSchemaJson: jsonSchema(definition.publicSchema),
    privilegedSchemaJson: jsonSchema(definition.privilegedSchema),
    rowSchemas: [...(definition.rowSchemas ?? [])],
    maxPipelinedSteps: featuresOf(definition).includes(Feature.STEP_STREAM) ? maxPipelinedSteps : 0,
    samples: [...(definition.samples?.() ?? [])],
  });
}
