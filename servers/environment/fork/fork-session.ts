import { clone } from "@bufbuild/protobuf";
import {
  type AgentView,
  type Lease,
  type SessionDescriptor,
  SessionDescriptorSchema,
} from "../../../gen/index.js";
import type { EnvironmentContext } from "../environment-context.js";
import { answersOf, type EnvironmentSession, partOf, worldOf } from "../environment-session.js";
import { orRelease } from "../or-release.js";
import { sealState } from "../verify/verifier-state.js";
import { createStepFeed } from "../watch/step-feed.js";

/** What a fork has of its own. */
export interface ForkFacts {
  readonly sessionId: string;
  readonly lease: Lease;
}

/** A copy of a session. */
export interface ForkedSession<Data, State> {
  readonly state: EnvironmentSession<Data, State>;
  readonly descriptor: SessionDescriptor;
}

/** Copies what there is of a session: it goes on exactly where its source stands, and shares nothing with it (ENV-FORK-001, -002). */
export async function forkSession<Data, State>(
  context: EnvironmentContext<Data, State>,
  source: EnvironmentSession<Data, State>,
  facts: ForkFacts,
): Promise<ForkedSession<Data, State>> {
  const { runtime, definition } = context;
  if (definition.fork === undefined) throw new Error("a fork of an environment without one");
  const world = worldOf(source);
  const state = await definition.fork(world.state);
  const descriptor = await orRelease(context, { state, madeFor: { session: facts.sessionId } }, () =>
    forkDescriptor(context, source, { ...facts, of: world.descriptor }),
  );
  return {
    descriptor,
    state: {
      ...source,
      world: {
        task: world.task,
        data: world.data,
        state,
        descriptor,
        feed: createStepFeed(runtime.limits.stepAnswers, world.feed.last),
        before: answersOf(world).slice(-runtime.limits.stepAnswers),
      },
      stages: source.stages && { ...source.stages },
      parts: new Map([...source.parts].map(([agentId, part]) => [agentId, { ...part }])),
    },
  };
}

/** The source's descriptor, as it holds now, with ways, tokens and a lease of the fork's own (ENV-FORK-004). */
function forkDescriptor<Data, State>(
  { runtime, definition, tokens }: EnvironmentContext<Data, State>,
  source: EnvironmentSession<Data, State>,
  { of, sessionId, lease }: ForkFacts & { readonly of: SessionDescriptor },
): SessionDescriptor {
  const descriptor = clone(SessionDescriptorSchema, of);
  descriptor.sessionId = sessionId;
  descriptor.lease = lease;
  if (definition.stateless === true && of.context !== undefined) {
    const { task } = worldOf(source);
    const sealed = { sessionId, context: of.context, task, seed: of.seed };
    descriptor.verifierState = sealState(runtime.verifierKey, sealed);
  }
  descriptor.nextAgents = [...source.next];
  for (const view of descriptor.agents) {
    const { tools, observation } = partOf(source, view.agentId);
    view.tools = [...tools.values()].map(({ described }) => described);
    if (observation !== undefined) view.observation = observation;
    readdress(view, sessionId, tokens.mint());
  }
  return descriptor;
}

/** Makes an agent's ways those of another session. */
function readdress(view: AgentView, sessionId: string, token: string): void {
  view.token = token;
  for (const { way } of view.toolAccesses) {
    if (way.case !== "step") continue;
    way.value.sessionId = sessionId;
    way.value.bearerToken = token;
  }
}
