import { clone, create } from "@bufbuild/protobuf";
import {
  type ActivateRequest,
  ActivateRequestSchema,
  type ActivateResponse,
  ActivateResponseSchema,
  ActivationBegunSchema,
  type ActivationCompleted,
  ActivationCompletedSchema,
  ActivationFailedSchema,
  AgentEndSchema,
  type Budget,
  FailureKind,
  Stage,
  UsageSchema,
} from "../../gen/index.js";
import { keptMessageLimit } from "../runtime/answer-limit.js";
import { checkAnswerSize } from "../runtime/answer-size.js";
import { clamp, fromMs, toMs } from "../runtime/duration.js";
import type { EventLog } from "../runtime/event-log.js";
import { fingerprint } from "../runtime/fingerprint.js";
import type { Delivered } from "../runtime/ledger.js";
import type { Outcome } from "../runtime/operation.js";
import type { Runtime } from "../runtime/runtime.js";
import type { SessionRun } from "../runtime/session-work.js";
import type { Sessions } from "../runtime/sessions.js";
import { tighterBudget } from "../runtime/tighter-budget.js";
import { addUsage } from "../runtime/usage.js";
import { type AgentSession, activationEvents } from "./agent-session.js";
import { BudgetMeter } from "./budget-meter.js";
import type { AgentDefinition, TurnEnd } from "./define-agent.js";
import { takeTurn } from "./take-turn.js";
import { createTurn } from "./turn.js";
import { TurnRecord } from "./turn-record.js";
import { resultsForUnanswered } from "./unanswered-calls.js";

/** What Activate works with. */
export interface ActivateContext<Options> {
  readonly runtime: Runtime;
  readonly definition: AgentDefinition<Options>;
  readonly sessions: Sessions<AgentSession<Options>>;
}

/** Milliseconds that an activation's timeout lies beyond its wall time: passing it means that the server failed. */
const beyondWallMs = 30_000;
/** Bytes that the terminal event may have beside the turn's output. */
const terminalBytes = 4096;

type Run<Options> = SessionRun<AgentSession<Options>, ActivationCompleted>;

/** A turn that runs: its counts and its record, from its start to its outcome. */
interface RunningTurn {
  readonly meter: BudgetMeter;
  readonly record: TurnRecord;
}

/** Gives the agent its turn, or finds the operation that did. */
export function activate<Options>(
  context: ActivateContext<Options>,
  request: ActivateRequest,
): Delivered<ActivationCompleted> {
  const { runtime, sessions } = context;
  let running: RunningTurn | undefined;
  return sessions.operate<ActivationCompleted>(request.sessionId, {
    kind: "activation",
    index: request.activationIndex,
    fingerprint: fingerprint(ActivateRequestSchema, request),
    timeoutMs: (state) => timeoutOf(request, budgetOf(request, state), runtime),
    context: ({ agentId }) => ({ stage: Stage.ACTIVATE, agentId }),
    events: activationEvents,
    async run(run) {
      const budget = budgetOf(request, run.state);
      running = begin(runtime, request, { run, budget });
      return await play(context, request, { run, budget, ...running });
    },
    onEnd(outcome, run) {
      if (running !== undefined) end(outcome, request, { run, ...running });
    },
  });
}

/** The turn's budget as enforced: its own, else the session's (AGT-ACT-027). */
function budgetOf(
  request: ActivateRequest,
  { budget, maxBudget }: Pick<AgentSession<unknown>, "budget" | "maxBudget">,
): Budget {
  return request.budget === undefined ? budget : tighterBudget(request.budget, maxBudget);
}

function wallMsOf({ wallTime }: Budget): number | undefined {
  return wallTime === undefined ? undefined : toMs(wallTime);
}

function timeoutOf(request: ActivateRequest, budget: Budget, { limits }: Runtime): number {
  const bounds = limits.timeout;
  if (request.timeout !== undefined) return clamp(request.timeout, bounds);
  const wallMs = wallMsOf(budget);
  const beyond = wallMs === undefined ? 0 : wallMs + beyondWallMs;
  return Math.min(Math.max(bounds.defaultMs, beyond), bounds.maximumMs);
}

function begin<Options>(
  runtime: Runtime,
  request: ActivateRequest,
  { run, budget }: { run: Run<Options>; budget: Budget },
): RunningTurn {
  const { state, index } = run;
  const events = eventsOf(run);
  const timeout = fromMs(timeoutOf(request, budget, runtime));
  events.append(create(ActivateResponseSchema, { event: { case: "accepted", value: { timeout } } }));
  if (request.tools !== undefined) state.tools = request.tools.tools;
  const inputItems = request.input.length;
  state.transcript.add(index, {
    case: "begun",
    value: create(ActivationBegunSchema, { inputItems, budget }),
  });
  for (const item of request.input) state.transcript.add(index, { case: "item", value: item });
  const meter = new BudgetMeter(budget);
  const maxOutputBytes = keptMessageLimit(runtime.limits) - terminalBytes;
  const record = new TurnRecord({
    session: state,
    index,
    meter,
    events,
    clock: runtime.clock,
    maxOutputBytes,
  });
  return { meter, record };
}

async function play<Options>(
  { definition, runtime }: ActivateContext<Options>,
  request: ActivateRequest,
  { run, budget, meter, record }: RunningTurn & { run: Run<Options>; budget: Budget },
): Promise<ActivationCompleted> {
  const { state, execution } = run;
  const { clock } = runtime;
  const early = new AbortController();
  const turn = createTurn({
    session: state,
    sessionId: run.session.id,
    index: run.index,
    input: request.input,
    record,
    meter,
    clock,
    signal: AbortSignal.any([early.signal, execution.signal]),
  });
  const completed = (stopped: TurnEnd): ActivationCompleted => {
    record.end();
    const answer = create(ActivationCompletedSchema, {
      answerId: run.answerId,
      stopReason: stopped.stopReason,
      usage: meter.usage,
      output: record.output,
      artifacts: [...(stopped.artifacts ?? [])],
    });
    const limit = keptMessageLimit(runtime.limits) - 64;
    checkAnswerSize(ActivationCompletedSchema, answer, { limit, kind: FailureKind.HARNESS_CRASHED });
    return answer;
  };
  const taken = takeTurn({
    definition,
    turn,
    record,
    clock,
    early,
    wallMs: wallMsOf(budget),
    // The harness runs in this process and cannot be killed: its turn has ended, and Close tells that it runs on.
    onOverrun() {
      if (record.stopReason !== undefined) execution.complete(completed({ stopReason: record.stopReason }));
    },
  });
  state.interrupt = taken.interrupt;
  return completed(await taken.end);
}

/** Tells how a turn ended, before its callers are told. */
function end<Options>(
  outcome: Outcome<ActivationCompleted>,
  request: ActivateRequest,
  { run, meter, record }: RunningTurn & { run: Run<Options> },
): void {
  const { state, index, answerId } = run;
  record.end();
  state.interrupt = undefined;
  const { usage } = meter;
  addUsage(state.usage, usage);
  state.conversation.push(...request.input, ...record.output, ...resultsForUnanswered(record.output));
  state.transcript.add(index, {
    case: "ended",
    value: create(AgentEndSchema, {
      agentId: state.agentId,
      ...(outcome.ok ? { stopReason: outcome.answer.stopReason } : { failure: outcome.error.failure }),
      activations: index + 1,
      usage: clone(UsageSchema, state.usage),
    }),
  });
  const event = outcome.ok
    ? ({ case: "completed", value: outcome.answer } as const)
    : ({
        case: "failed",
        value: create(ActivationFailedSchema, { answerId, failure: outcome.error.failure, usage }),
      } as const);
  eventsOf(run).end(create(ActivateResponseSchema, { event }));
}

/** The events of an activation. */
function eventsOf<Options>(run: Run<Options>): EventLog<ActivateResponse> {
  return run.operation.events as EventLog<ActivateResponse>;
}
