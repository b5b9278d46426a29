import { create } from "@bufbuild/protobuf";
import {
  type Action,
  ActionKind,
  type AgentOutcome,
  AgentOutcomeSchema,
  FailureKind,
  type Item,
  ObservationSchema,
  Stage,
  type StepRequest,
  StepRequestSchema,
  type StepResponse,
  StepResponseSchema,
  StepReward,
  type ToolCall,
} from "../../gen/index.js";
import { checkAnswerSize } from "../runtime/answer-size.js";
import { clamp, fromMs, toMs } from "../runtime/duration.js";
import { fingerprint } from "../runtime/fingerprint.js";
import { isId } from "../runtime/identity.js";
import { toolResultItem, userMessage } from "../runtime/items.js";
import type { Delivered } from "../runtime/ledger.js";
import { invalidField, Refusal } from "../runtime/refusal.js";
import { checkedReward } from "../runtime/reward.js";
import type { Runtime } from "../runtime/runtime.js";
import type { Session } from "../runtime/session.js";
import type { SessionRun } from "../runtime/session-work.js";
import type { Sessions } from "../runtime/sessions.js";
import { actionKindsOf, stepRewardOf } from "./declarations.js";
import type { EnvironmentDefinition, StepResult } from "./define-environment.js";
import { type EnvironmentSession, soleAgent, worldOf } from "./environment-session.js";
import { checkReadable } from "./submission.js";
import { runTool } from "./tool.js";

/** What Step works with. */
export interface StepContext<Data, State> {
  readonly runtime: Runtime;
  readonly definition: EnvironmentDefinition<Data, State>;
  readonly sessions: Sessions<EnvironmentSession<Data, State>>;
}

const actionKinds = {
  items: ActionKind.ITEMS,
  toolCall: ActionKind.TOOL_CALL,
  content: ActionKind.CONTENT,
} as const;

/** Takes a step, or finds the operation that did. Checked by hand: this is the hot path. */
export function step<Data, State>(
  { runtime, definition, sessions }: StepContext<Data, State>,
  request: StepRequest,
): Delivered<StepResponse> {
  checkStep(request, actionKindsOf(definition));
  const session = sessions.known(request.sessionId);
  const own = session.state?.world?.descriptor.stepTimeout;
  const asked = request.timeout ?? own;
  const timeoutMs =
    asked === undefined ? runtime.limits.timeout.defaultMs : clamp(asked, runtime.limits.timeout);
  const { name } = request;
  return sessions.operate<StepResponse>(request.sessionId, {
    kind: "step",
    name: name.case === "actionId" ? `action:${name.value}` : `step:${name.value}`,
    index: name.case === "stepIndex" ? name.value : undefined,
    fingerprint: fingerprint(StepRequestSchema, request),
    timeoutMs,
    context: { stage: Stage.STEP },
    check: (open) => checkOpen(open, request.actions),
    async run(run) {
      if (name.case === "actionId") sessions.alias(request.sessionId, `step:${run.index}`, run.operation);
      const response = await takeStep(definition, request, run);
      if (request.timeout !== undefined) response.timeout = fromMs(timeoutMs);
      checkAnswerSize(StepResponseSchema, response, {
        limit: runtime.limits.maxMessageBytes,
        kind: FailureKind.STEP_FAILED,
      });
      return response;
    },
    onEnd: (_outcome, run) => keep(runtime, sessions, run),
  });
}

/** Keeps the newest step answers; of older ones the name stays (R14, ALL-KEEP-001). */
function keep<Data, State>(
  runtime: Runtime,
  sessions: Sessions<EnvironmentSession<Data, State>>,
  run: SessionRun<EnvironmentSession<Data, State>, StepResponse>,
): void {
  const { recentSteps } = run.state;
  recentSteps.push(run.operation.name);
  if (recentSteps.length <= runtime.limits.stepAnswers) return;
  const oldest = recentSteps.shift();
  if (oldest === undefined) return;
  sessions.forgetAnswer(run.session.id, `step:${run.index - recentSteps.length}`);
  if (oldest.startsWith("action:")) sessions.expireAnswer(run.session.id, oldest);
}

/** Checks what can be seen without the session. */
function checkStep(request: StepRequest, kinds: readonly ActionKind[]): void {
  if (!isId(request.sessionId))
    throw invalidField("session_id", "expected an id: [A-Za-z0-9][A-Za-z0-9._-]{0,127}");
  const { name } = request;
  // ENV-STEP-016
  if (name.case === undefined)
    throw invalidField("step_index", "expected step_index or action_id, found neither");
  if (name.case === "actionId" && (name.value === "" || Buffer.byteLength(name.value) > 256)) {
    throw invalidField("action_id", `expected 1 to 256 bytes, found ${Buffer.byteLength(name.value)}`);
  }
  if (request.timeout !== undefined && !(toMs(request.timeout) >= 0)) {
    throw invalidField("timeout", "expected a duration of 0 or more");
  }
  if (request.actions.length === 0) throw invalidField("actions", "expected at least one action");
  for (const [i, action] of request.actions.entries()) checkAction(action, `actions[${i}]`, kinds);
  if (request.actions.length > 1) {
    throw invalidField("actions[1].agent_id", `a second action of agent "${soleAgent}" in one step`);
  }
}

function checkAction(action: Action, path: string, kinds: readonly ActionKind[]): void {
  // ENV-STEP-022
  if (action.agentId !== soleAgent) {
    throw invalidField(`${path}.agent_id`, `there is no agent "${action.agentId}"; there is "${soleAgent}"`);
  }
  const { kind } = action;
  if (kind.case === undefined)
    throw invalidField(path, "expected items, tool_call or content, found none that is known");
  // ENV-STEP-008
  if (!kinds.includes(actionKinds[kind.case])) {
    const declared = kinds.map((known) => ActionKind[known]).join(", ");
    throw invalidField(
      path,
      `an action of kind ${ActionKind[actionKinds[kind.case]]}; declared: ${declared || "none"}`,
    );
  }
  if (kind.case === "toolCall") checkToolCall(kind.value, `${path}.tool_call`);
  if (kind.case === "items") {
    for (const [i, item] of kind.value.items.entries()) checkReadable(item, `${path}.items.items[${i}]`);
  }
}

function checkToolCall(call: ToolCall, path: string): void {
  const idBytes = Buffer.byteLength(call.callId);
  if (idBytes < 1 || idBytes > 256)
    throw invalidField(`${path}.call_id`, `expected 1 to 256 bytes, found ${idBytes}`);
  // ENV-STEP-014, field-case-87
  if (call.incomplete) throw invalidField(`${path}.incomplete`, "a call that a limit cut is never run");
  let args: unknown;
  try {
    args = JSON.parse(call.argumentsJson);
  } catch {
    throw invalidField(
      `${path}.arguments_json`,
      "expected the text of a JSON object, found text that is no JSON",
    );
  }
  // ENV-STEP-010
  if (typeof args !== "object" || args === null || Array.isArray(args)) {
    throw invalidField(
      `${path}.arguments_json`,
      "expected the text of a JSON object, found another JSON value",
    );
  }
}

/** Checks what depends on where the session stands. */
function checkOpen<Data, State>(
  session: Session<EnvironmentSession<Data, State>>,
  actions: readonly Action[],
): void {
  const { state } = session;
  if (state === undefined) return;
  // ENV-STEP-006, ENV-FENC-001
  if (state.ended) throw new Refusal("EPISODE_ENDED", "the episode is over: no steps any more");
  const { tools } = worldOf(state);
  actions.forEach((action, i) => {
    // ENV-STEP-009, field-case-108
    if (action.kind.case === "toolCall" && !tools.has(action.kind.value.name)) {
      const field = `actions[${i}].tool_call.name`;
      const known = [...tools.keys()].join(", ") || "none";
      const description = `no tool "${action.kind.value.name}" in this task; its tools: ${known}`;
      throw new Refusal("UNKNOWN_TOOL", `${field}: ${description}`, { violations: [{ field, description }] });
    }
  });
}

async function takeStep<Data, State>(
  definition: EnvironmentDefinition<Data, State>,
  request: StepRequest,
  run: SessionRun<EnvironmentSession<Data, State>, StepResponse>,
): Promise<StepResponse> {
  const { state } = run;
  const result = await act(definition, request, run);
  const terminated = result.terminated ?? false;
  const truncated = !terminated && (result.truncated === true || run.index + 1 === state.maxSteps);
  const outcome = create(AgentOutcomeSchema, {
    agentId: soleAgent,
    observation: result.observation,
    terminated,
    truncated,
    infoJson: result.info === undefined ? "" : JSON.stringify(result.info),
  });
  reward(definition, state, result, outcome);
  state.sequence += 1n;
  if (terminated || truncated) state.ended = true;
  return create(StepResponseSchema, {
    answerId: run.answerId,
    stepIndex: run.index,
    sequence: state.sequence,
    outcomes: [outcome],
    terminated,
    truncated,
    nextAgents: state.ended ? [] : [soleAgent],
  });
}

/** Gives an outcome its reward: one on each step, or on none (ENV-STEP-003). */
function reward<Data, State>(
  definition: EnvironmentDefinition<Data, State>,
  state: EnvironmentSession<Data, State>,
  result: StepResult,
  outcome: AgentOutcome,
): void {
  const kind = stepRewardOf(definition.reward);
  if (kind === StepReward.NONE) {
    if (result.reward !== undefined)
      throw new Error("a step gave a reward, and rewards are declared TERMINAL");
    return;
  }
  const value = result.reward ?? (kind === StepReward.CUMULATIVE ? state.stepRewards : 0);
  outcome.reward = checkedReward(value, definition.reward, "the step's reward");
  state.stepRewards = kind === StepReward.CUMULATIVE ? value : state.stepRewards + value;
}

type Acted = Omit<StepResult, "observation"> & { readonly observation: AgentOutcome["observation"] & object };

async function act<Data, State>(
  definition: EnvironmentDefinition<Data, State>,
  request: StepRequest,
  run: SessionRun<EnvironmentSession<Data, State>, StepResponse>,
): Promise<Acted> {
  const [action] = request.actions;
  const world = worldOf(run.state);
  if (action?.kind.case === "toolCall") {
    const call = action.kind.value;
    const tool = world.tools.get(call.name);
    if (tool === undefined) throw new Error(`tool ${call.name} vanished between check and run`);
    const outcome = await runTool(tool, call, {
      state: world.state,
      agentId: action.agentId,
      signal: run.execution.signal,
    });
    return {
      observation: observed([toolResultItem(outcome.result)]),
      ...(outcome.reward === undefined ? {} : { reward: outcome.reward }),
      ...(outcome.terminated === undefined ? {} : { terminated: outcome.terminated }),
    };
  }
  if (definition.step === undefined) throw new Error("an action that no function takes passed the checks");
  const { observation, ...rest } = await definition.step({
    state: world.state,
    actions: request.actions,
    stepIndex: run.index,
    signal: run.execution.signal,
  });
  if (observation === undefined) return { ...rest, observation: observed([]) };
  return {
    ...rest,
    observation:
      typeof observation === "string"
        ? observed([userMessage(observation)])
        : create(ObservationSchema, observation),
  };
}

function observed(items: Item[]): NonNullable<AgentOutcome["observation"]> {
  return create(ObservationSchema, { items });
}
