import { type Action, FailureKind } from "../../../gen/index.js";
import { OperationFailure } from "../../runtime/failure.js";
import { isInstance } from "../../runtime/is-instance.js";
import { toolResultItem } from "../../runtime/items.js";
import { stepShape } from "../answer-shapes.js";
import { checkAuthorAnswer } from "../author-answer.js";
import type { StepInput, StepResult } from "../definition/stepping.js";
import type { ToolContext } from "../definition/tool.js";
import type { EnvironmentContext } from "../environment-context.js";
import { type EnvironmentSession, partOf, worldOf } from "../environment-session.js";
import { runTool } from "../tool/run-tool.js";
import type { ReadAction } from "./check-step.js";
import { GatheredOutcomes } from "./gather-outcomes.js";

/** What a step is taken with. */
export interface Acting<Data, State> {
  readonly session: EnvironmentSession<Data, State>;
  readonly stepIndex: number;
  /** What runs. Its signal is made when it is asked for. */
  readonly execution: { readonly signal: AbortSignal };
}

/** A step as its author is given it. A class, so that its signal, which costs, is made only for one who asks for it. */
class AskedStep<State> implements StepInput<State> {
  readonly stepIndex: number;
  readonly #execution: { readonly signal: AbortSignal };

  constructor(
    readonly state: State,
    readonly actions: readonly Action[],
    { stepIndex, execution }: Pick<Acting<never, never>, "stepIndex" | "execution">,
  ) {
    this.stepIndex = stepIndex;
    this.#execution = execution;
  }

  get signal(): AbortSignal {
    return this.#execution.signal;
  }
}

/** What a tool works with. Its signal, too, is made only for one that asks for it. */
class ToolCallContext<State> implements ToolContext<State> {
  readonly #execution: { readonly signal: AbortSignal };

  constructor(
    readonly state: State,
    readonly agentId: string,
    execution: { readonly signal: AbortSignal },
  ) {
    this.#execution = execution;
  }

  get signal(): AbortSignal {
    return this.#execution.signal;
  }
}

/**
 * Has an author's functions take a step: its tool calls one by one in the order of the actions, then the rest at once.
 * Is there at once where they answer at once. Throws, or rejects with, whatever they throw.
 */
export function act<Data, State>(
  { definition, prepared }: EnvironmentContext<Data, State>,
  actions: readonly ReadAction[],
  acting: Acting<Data, State>,
): GatheredOutcomes | Promise<GatheredOutcomes> {
  const gathered = new GatheredOutcomes(prepared);
  const others = actions.filter(({ call }) => call === undefined).map(({ action }) => action);
  const take = (): GatheredOutcomes | Promise<GatheredOutcomes> => {
    if (others.length === 0) return gathered;
    if (definition.step === undefined) throw new Error("an action that no function takes passed the checks");
    const { state } = worldOf(acting.session);
    const result = definition.step(new AskedStep(state, others, acting));
    return isThenable(result) ? whenGiven(result, others, gathered) : add(result, others, gathered);
  };
  return others.length === actions.length ? take() : callTools(actions, acting, gathered).then(take);
}

async function callTools<Data, State>(
  actions: readonly ReadAction[],
  { session, execution }: Acting<Data, State>,
  gathered: GatheredOutcomes,
): Promise<void> {
  const { state } = worldOf(session);
  for (const { action, call } of actions) {
    if (call === undefined) continue;
    const { agentId } = action;
    const tool = partOf(session, agentId).tools.get(call.call.name);
    if (tool === undefined) throw new Error(`tool ${call.call.name} vanished between check and run`);
    const context = new ToolCallContext(state, agentId, execution);
    const { result, ...rest } = await runTool(tool, call, context).catch((error: unknown): never => {
      // The log names the tool; what was meant for callers reaches them as it is.
      if (isInstance(error, OperationFailure)) throw error;
      throw new Error(`tool "${call.call.name}" broke`, { cause: error });
    });
    gathered.add([agentId], { ...rest, observation: { items: [toolResultItem(result)] } });
  }
}

function add(result: StepResult, actions: readonly Action[], gathered: GatheredOutcomes): GatheredOutcomes {
  checkAuthorAnswer(result, stepShape, { by: "step", kind: FailureKind.STEP_FAILED });
  gathered.add(
    actions.map(({ agentId }) => agentId),
    result,
  );
  return gathered;
}

async function whenGiven(
  result: PromiseLike<StepResult>,
  actions: readonly Action[],
  gathered: GatheredOutcomes,
): Promise<GatheredOutcomes> {
  return add(await result, actions, gathered);
}

/** Whatever `await` would wait for: an author's promise need not be the platform's. */
function isThenable<T extends object>(given: T | PromiseLike<T>): given is PromiseLike<T> {
  // Untyped authors may return nothing.
  const { then } = (given ?? {}) as Partial<PromiseLike<T>>;
  return typeof then === "function";
}
