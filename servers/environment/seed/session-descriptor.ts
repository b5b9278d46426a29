import type { MessageInitShape } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import {
  type AgentViewSchema,
  type EpisodeContext,
  type Lease,
  Placement,
  type SessionDescriptor,
  SessionDescriptorSchema,
  type Task,
  type ToolAccessSchema,
  VerifyIsolation,
} from "../../../gen/index.js";
import { fromMs } from "../../runtime/duration.js";
import type { ReadStart, ReadStarts } from "../agent-starts.js";
import { declarationsOf } from "../declarations.js";
import type { EnvironmentContext } from "../environment-context.js";
import type { StageProgress } from "../stages/stage-progress.js";
import { sealState } from "../verify/verifier-state.js";

/** What a descriptor tells beside what the definition says. */
export interface Described<State> {
  readonly sessionId: string;
  readonly context: EpisodeContext;
  readonly task: Task;
  readonly taskDigest: string;
  /** The seed in use; undefined: the world has none. */
  readonly seed: bigint | undefined;
  readonly starts: ReadStarts<State>;
  readonly stages: StageProgress | undefined;
  readonly lease: Lease;
}

/** The session as its controller needs to know it, each agent with its own view (ENV-SEED-001, ENV-MULT-001). */
export function sessionDescriptor<Data, State>(
  { runtime, definition, prepared, tokens }: EnvironmentContext<Data, State>,
  { sessionId, context, task, taskDigest, seed, starts, stages, lease }: Described<State>,
): SessionDescriptor {
  const declarations = declarationsOf(definition, prepared);
  // The descriptor has each agent's own list in its place.
  declarations.tools = [];
  return create(SessionDescriptorSchema, {
    sessionId,
    context,
    task: {
      ...(task.taskId === undefined ? {} : { taskId: task.taskId }),
      environment: task.environment,
      split: task.split,
      revision: task.revision,
      digest: taskDigest,
    },
    publicJson: task.publicJson,
    ...(seed === undefined ? {} : { seed }),
    agents: starts.agents.map((start) =>
      agentView(start, {
        task,
        access: {
          url: runtime.url,
          required: definition.toolsRequired ?? true,
          sessionId,
          token: tokens.mint(),
        },
      }),
    ),
    nextAgents: [...starts.next],
    declarations,
    stages: (stages?.names ?? []).map((name, stageIndex) => ({ stageIndex, name })),
    ...(task.limits === undefined ? {} : { limits: task.limits }),
    verifyIsolation: VerifyIsolation.NONE_NEEDED,
    placement: Placement.NONE,
    lease,
    // ENV-SEED-016, ENV-SEED-021
    ...(definition.stateless === true
      ? { verifierState: sealState(runtime.verifierKey, { sessionId, context, task, seed }) }
      : {}),
    ...(prepared.hasSteps ? { stepTimeout: fromMs(prepared.stepTimeoutMs) } : {}),
  });
}

interface StepAccessFacts {
  readonly url: string;
  readonly required: boolean;
  readonly sessionId: string;
  readonly token: string;
}

function agentView<State>(
  { agentId, input, observation, tools }: ReadStart<State>,
  { task, access }: { readonly task: Task; readonly access: StepAccessFacts },
): MessageInitShape<typeof AgentViewSchema> {
  return {
    agentId,
    input: [...(input ?? task.input)],
    ...(observation === undefined ? {} : { observation }),
    tools: [...tools.values()].map(({ described }) => described),
    toolAccesses: tools.size === 0 ? [] : [stepAccess(agentId, access)],
    token: access.token,
  };
}

/** The way to an agent's tools by Step of this server. */
function stepAccess(
  agentId: string,
  { url, required, sessionId, token }: StepAccessFacts,
): MessageInitShape<typeof ToolAccessSchema> {
  return {
    name: "step",
    required,
    way: { case: "step", value: { endpoint: { url }, sessionId, agentId, bearerToken: token } },
  };
}
