import { clone, create } from "@bufbuild/protobuf";
import { FailureKind, type Observation, ObservationSchema, StepReward } from "../../../gen/index.js";
import { userMessage } from "../../runtime/items.js";
import { checkAgents } from "../agent-starts.js";
import { agentStepShape } from "../answer-shapes.js";
import { checkAuthorAnswer } from "../author-answer.js";
import { authorFault } from "../author-fault.js";
import type { AgentStepResult, StepResult } from "../definition/stepping.js";
import type { PreparedEnvironment } from "../prepared-environment.js";

const kind = FailureKind.STEP_FAILED;

/** What came of a step for one agent, as its author said. */
export interface Outcome extends Omit<AgentStepResult, "observation"> {
  readonly observation: Observation;
}

/** What an author's functions made of one step, put together. */
export class GatheredOutcomes {
  /** By agent, in the order in which something was said of them. */
  readonly byAgent = new Map<string, Outcome>();
  /** Who acts next; undefined: as before. */
  next: readonly string[] | undefined;
  episodeTerminated = false;
  episodeTruncated = false;

  constructor(private readonly prepared: Pick<PreparedEnvironment<never>, "agentIds" | "stepReward">) {}

  /** Adds what one function made of the actions of some agents. Throws a failure where it names an agent that there is not. */
  add(actors: readonly string[], result: StepResult): void {
    const [actor, ...more] = actors;
    if (actor !== undefined && more.length === 0) this.#merge(actor, result);
    else {
      for (const agentId of actors) this.#merge(agentId, {});
      if (saysSomething(result)) {
        throw authorFault(kind, "several agents acted: say what came of it in `outcomes`, by agent_id");
      }
    }
    const { outcomes, next } = result;
    const { agentIds } = this.prepared;
    if (outcomes !== undefined) {
      checkAgents(Object.keys(outcomes), agentIds, { what: "outcomes", kind });
      for (const [agentId, outcome] of Object.entries(outcomes)) {
        checkAuthorAnswer(outcome, agentStepShape, { by: `outcomes.${agentId}`, kind });
        this.#merge(agentId, outcome);
      }
    }
    if (next !== undefined) {
      checkAgents(next, agentIds, { what: "next", kind });
      this.next = next;
    }
    this.episodeTerminated ||= result.episodeTerminated ?? false;
    this.episodeTruncated ||= result.episodeTruncated ?? false;
  }

  #merge(agentId: string, { observation, reward, terminated, truncated, info }: AgentStepResult): void {
    const had = this.byAgent.get(agentId);
    const given = observed(observation);
    if (had !== undefined) {
      given.items.unshift(...had.observation.items);
      given.content.unshift(...had.observation.content);
    }
    const total = this.#total(had?.reward, reward);
    this.byAgent.set(agentId, {
      observation: given,
      ...(total === undefined ? {} : { reward: total }),
      terminated: terminated === true || had?.terminated === true,
      truncated: truncated === true || had?.truncated === true,
      ...noted(had?.info, info),
    });
  }

  /** What two functions of one step gave an agent: deltas add up, of totals the last one holds. */
  #total(had: number | undefined, more: number | undefined): number | undefined {
    if (had === undefined) return more;
    if (more === undefined) return had;
    // What is no number, untyped authors' null for one, stays what it is: it is refused, never summed (R8).
    if (this.prepared.stepReward === StepReward.CUMULATIVE || !Number.isFinite(more)) return more;
    return Number.isFinite(had) ? had + more : had;
  }
}

/** Notes of two functions of one step, put together. */
function noted(had: object | undefined, more: object | undefined): Pick<AgentStepResult, "info"> {
  if (had === undefined || more === undefined) {
    const info = more ?? had;
    return info === undefined ? {} : { info };
  }
  return { info: { ...had, ...more } };
}

function saysSomething({ observation, reward, terminated, truncated, info }: AgentStepResult): boolean {
  return [observation, reward, terminated, truncated, info].some((value) => value !== undefined);
}

/** An observation of its own, to be changed without changing the author's. */
function observed(given: AgentStepResult["observation"]): Observation {
  if (given === undefined) return create(ObservationSchema);
  if (typeof given === "string") return create(ObservationSchema, { items: [userMessage(given)] });
  // Deep: what an author writes into its own buffers later must not change an answer that was given (R2).
  return clone(ObservationSchema, create(ObservationSchema, given));
}
