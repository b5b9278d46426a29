import { create } from "@bufbuild/protobuf";
import { type AgentSubmission, type Submission, SubmissionSchema } from "../../../gen/index.js";
import { lastAnswer } from "../../runtime/items.js";
import type { AgentWork, Work } from "../definition/verifying.js";
import { type EnvironmentSession, worldOf } from "../environment-session.js";

/** What a verification is of, beside the session. */
export interface WorkFacts {
  readonly submission: Submission | undefined;
  readonly steps: number;
  readonly signal: AbortSignal;
}

/** The work of a session as its author's `verify` reads it, agent by agent (ENV-MULT-007). */
export function workOf<Data, State>(
  session: EnvironmentSession<Data, State>,
  { submission, steps, signal }: WorkFacts,
): Work<Data, State> {
  const { data, state } = worldOf(session);
  const agents = new Map(
    [...session.parts.values()].map(({ agentId, stepRewards }): [string, AgentWork] => {
      const handedIn = submission?.agents.find((entry) => entry.agentId === agentId);
      return [agentId, agentWork(handedIn, stepRewards)];
    }),
  );
  const [first, ...more] = agents.values();
  const all = [...agents.values()].reduce((sum, { stepRewards }) => sum + stepRewards, 0);
  return {
    ...(first !== undefined && more.length === 0 ? first : agentWork(undefined, all)),
    data,
    state,
    agents,
    submission: submission ?? create(SubmissionSchema),
    final: session.fenced,
    stageIndex: session.stages?.index ?? 0,
    steps,
    signal,
  };
}

/** What an agent handed in; nothing at all is the empty work (ENV-VRFY-007). */
function agentWork(handedIn: AgentSubmission | undefined, stepRewards: number): AgentWork {
  const items = handedIn?.items ?? [];
  return {
    answer: lastAnswer(items),
    items,
    artifacts: new Map(handedIn?.artifacts.map((artifact) => [artifact.name, artifact])),
    end: handedIn?.agentEnd,
    stepRewards,
  };
}
