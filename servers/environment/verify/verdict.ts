import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  FailureKind,
  type Reward,
  RewardAuthority,
  type StageVerdictSchema,
  type Verdict,
  VerdictSchema,
  VerifyIsolation,
} from "../../../gen/index.js";
import { foundText } from "../../runtime/found-text.js";
import { checkedReward } from "../../runtime/reward.js";
import { checkAgents } from "../agent-starts.js";
import { measuredShape } from "../answer-shapes.js";
import { checkAuthorAnswer } from "../author-answer.js";
import { authorFault } from "../author-fault.js";
import type { EnvironmentDefinition } from "../define-environment.js";
import type { Measured } from "../definition/verifying.js";
import type { EnvironmentContext } from "../environment-context.js";
import type { EnvironmentSession } from "../environment-session.js";
import { objectText } from "../object-text.js";
import type { StageProgress } from "../stages/stage-progress.js";

const kind = FailureKind.VERIFIER_FAILED;

/** The verdict of what was measured; what cannot be one is a failure (R8). */
export function verdictOf<Data, State>(
  { definition, prepared }: Pick<EnvironmentContext<Data, State>, "definition" | "prepared">,
  measured: Measured,
  { taskDigest, stages }: Pick<EnvironmentSession<Data, State>, "taskDigest" | "stages">,
): Verdict {
  checkAuthorAnswer(measured, measuredShape, { by: "verify", kind });
  const { reward, agentRewards = {}, components = {}, metrics = {}, masked } = measured;
  if (reward === undefined && masked === undefined) {
    throw authorFault(kind, "the verifier gave neither a reward nor a reason why there is none");
  }
  checkComponents(components, definition.reward);
  for (const [name, value] of Object.entries(metrics)) {
    if (!Number.isFinite(value))
      throw authorFault(kind, `metric "${name}": expected a finite number, found ${foundText(value)}`);
  }
  // ENV-VRFY-014
  if (masked !== undefined && !masked.reason)
    throw authorFault(kind, "the verdict is masked without a reason");
  checkAgents(Object.keys(agentRewards), prepared.agentIds, { what: "agentRewards", kind });
  const inRange = (value: number, what: string) => checkedReward(value, definition.reward, what);
  return create(VerdictSchema, {
    ...(reward === undefined ? {} : { reward: inRange(reward, "the reward") }),
    agentRewards: Object.fromEntries(
      Object.entries(agentRewards).map(([agentId, value]) => [
        agentId,
        inRange(value, `the reward of agent "${agentId}"`),
      ]),
    ),
    components: { ...components },
    ...(measured.success === undefined ? {} : { success: measured.success }),
    ...(masked === undefined ? {} : { masked }),
    // ENV-VRFY-006: the reward is the episode's, with its steps' where they have any.
    stepRewardIncluded: definition.reward.timing !== "terminal",
    ...(stages === undefined ? {} : { stage: stageVerdict(measured, stages, inRange) }),
    metrics: { ...metrics },
    diagnosticsJson: objectText(measured.diagnostics, "the verdict's diagnostics", kind),
    limitHit: measured.limitHit ?? "",
    provenance: provenanceOf(definition, taskDigest),
  });
}

/** What was measured of the stage that the session is at (ENV-STAG-004). */
function stageVerdict(
  { stageReward, episodeOver, masked }: Measured,
  { index, names }: StageProgress,
  inRange: (value: number, what: string) => Reward,
): MessageInitShape<typeof StageVerdictSchema> {
  // What is no valid measurement has no number (R8).
  if (stageReward === undefined && masked === undefined)
    throw authorFault(kind, "a task with stages: expected stageReward of the stage that was verified");
  return {
    stageIndex: index,
    ...(stageReward === undefined ? {} : { stageReward: inRange(stageReward, "the stage's reward") }),
    episodeOver: episodeOver === true || index + 1 >= names.length,
  };
}

/** ENV-VRFY-004 */
function checkComponents(
  components: Readonly<Record<string, number>>,
  { components: declared = [], minimum, maximum }: EnvironmentDefinition<never, never>["reward"],
): void {
  for (const [name, value] of Object.entries(components)) {
    if (!declared.includes(name)) {
      throw authorFault(
        kind,
        `component "${name}" is not declared; declared: ${declared.join(", ") || "none"}`,
      );
    }
    if (!(Number.isFinite(value) && value >= minimum && value <= maximum)) {
      throw authorFault(
        kind,
        `component "${name}": expected a finite number from ${minimum} to ${maximum}, found ${foundText(value)}`,
      );
    }
  }
}

/** ENV-VRFY-019 */
function provenanceOf<Data, State>(definition: EnvironmentDefinition<Data, State>, taskDigest: string) {
  return {
    implementation: definition.name,
    version: definition.version,
    verifierRevision: definition.verifierRevision ?? definition.version,
    taskDigest,
    isolation: VerifyIsolation.NONE_NEEDED,
    authority: RewardAuthority.ENVIRONMENT,
  };
}
