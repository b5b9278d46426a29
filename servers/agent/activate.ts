import { create } from "@bufbuild/protobuf";
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
  type Item,
  Stage,
  StopReason,
} from "../../gen/index.js";
import { clamp, fromMs, toMs } from "../runtime/duration.js";
import type { EventLog } from "../runtime/event-log.js";
import { fingerprint } from "../runtime/fingerprint.js";
import type { Delivered } from "../runtime/ledger.js";
import type { Runtime } from "../runtime/runtime.js";
import type { SessionRun } from "../runtime/session-work.js";
import type { Sessions } from "../runtime/sessions.js";
import { type AgentSession, activationEvents } from "./agent-session.js";
import { addUsage, BudgetMeter, enforced } from "./budget.js";
import type { AgentDefinition, TurnEnd } from "./define-agent.js";
import { createTurn } from "./turn.js";

/** What Activate works with. */
export interface ActivateContext<Options> {
  readonly runtime: Runtime;
  readonly definition: AgentDefinition<Options>;
  readonly sessions: Sessions<AgentSession<Options>>;
}

/** Milliseconds that an activation's timeout lies beyond its wall time: passing it means that the server failed. */
const beyondWallMs = 30_000;
/** Milliseconds that a harness has to stop once its turn was ended. */
const stopGraceMs = 2000;

type Run<Options> = SessionRun<AgentSession<Options>, ActivationCompleted>;

/** Gives the agent its turn, or finds the operation that did. */
export function activate<Options>(
  { runtime, definition, sessions }: ActivateContext<Options>,
  request: ActivateRequest,
): Delivered<ActivationCompleted> {
  const known = sessions.known(request.sessionId);
  const asked = request.budget === undefined ? known.state?.budget : request.budget;
  const budget = enforced(asked, definition.maxBudget);
  const wallMs = budget.wallTime === undefined ? undefined : toMs(budget.wallTime);
  const bounds = runtime.limits.timeout;
  const timeoutMs =
    request.timeout === undefined
      ? Math.min(Math.max(bounds.defaultMs, (wallMs ?? 0) + beyondWallMs), bounds.maximumMs)
      : clamp(request.timeout, bounds);
  // Of a call that starts the turn; one that joins or replays it leaves them unused.
  const meter = new BudgetMeter(budget);
  const output: Item[] = [];
  const life = { over: false };
  return sessions.operate<ActivationCompleted>(request.sessionId, {
    kind: "activation",
    name: `activate:${request.activationIndex}`,
    index: request.activationIndex,
    fingerprint: fingerprint(ActivateRequestSchema, request),
    timeoutMs,
    context: {
      stage: Stage.ACTIVATE,
      ...(known.state === undefined ? {} : { agentId: known.state.agentId }),
    },
    events: activationEvents,
    async run(run) {
      const { state, index } = run;
      eventsOf(run).append(
        create(ActivateResponseSchema, {
          event: { case: "accepted", value: { timeout: fromMs(timeoutMs) } },
        }),
      );
      if (request.tools !== undefined) state.tools = request.tools.tools;
      state.transcript.add(index, {
        case: "begun",
        value: create(ActivationBegunSchema, { inputItems: request.input.length, budget }),
      });
      for (const item of request.input) state.transcript.add(index, { case: "item", value: item });
      const end = await takeTurn({ definition, runtime, run, request, meter, output, wallMs, life });
      return create(ActivationCompletedSchema, {
        answerId: run.answerId,
        stopReason: end.stopReason,
        usage: meter.usage,
        output,
        artifacts: [...(end.artifacts ?? [])],
      });
    },
    onEnd(outcome, run) {
      const { state, index } = run;
      life.over = true;
      state.interrupt = undefined;
      state.conversation.push(...request.input, ...output);
      addUsage(state.usage, meter.usage);
      state.transcript.add(index, {
        case: "ended",
        value: create(AgentEndSchema, {
          agentId: state.agentId,
          ...(outcome.ok ? { stopReason: outcome.answer.stopReason } : { failure: outcome.error.failure }),
          activations: index + 1,
          usage: meter.usage,
        }),
      });
      eventsOf(run).end(
        create(ActivateResponseSchema, {
          event: outcome.ok
            ? { case: "completed", value: outcome.answer }
            : {
                case: "failed",
                value: create(ActivationFailedSchema, {
                  answerId: run.answerId,
                  failure: outcome.error.failure,
                  usage: meter.usage,
                }),
              },
        }),
      );
    },
  });
}

/** The events of an activation. */
function eventsOf<Options>(run: Run<Options>): EventLog<ActivateResponse> {
  return run.operation.events as EventLog<ActivateResponse>;
}

interface TurnContext<Options> {
  readonly definition: AgentDefinition<Options>;
  readonly runtime: Runtime;
  readonly run: Run<Options>;
  readonly request: ActivateRequest;
  readonly meter: BudgetMeter;
  readonly output: Item[];
  readonly wallMs: number | undefined;
  readonly life: { over: boolean };
}

/**
 * Runs the harness until it ends, its wall time is over (WALL_TIME) or Interrupt ends it (INTERRUPTED). Either way
 * what it did until then is kept (AGT-ACT-018, AGT-ACT-023, AGT-INTR-001).
 */
async function takeTurn<Options>(context: TurnContext<Options>): Promise<TurnEnd> {
  const { definition, runtime, run, request, meter, output, wallMs, life } = context;
  const early = new AbortController();
  let reason: StopReason | undefined;
  const stop = (why: StopReason): void => {
    reason ??= why;
    early.abort();
  };
  run.state.interrupt = () => stop(StopReason.INTERRUPTED);
  const wall =
    wallMs === undefined ? undefined : runtime.clock.setTimer(wallMs, () => stop(StopReason.WALL_TIME));
  const turn = createTurn({
    session: run.state,
    sessionId: run.session.id,
    index: run.index,
    input: request.input,
    meter,
    clock: runtime.clock,
    events: eventsOf(run),
    signal: AbortSignal.any([early.signal, run.execution.signal]),
    output,
    life,
  });
  try {
    const work = definition.activate(turn);
    const end = await Promise.race([work, stopped(early.signal, work, runtime)]);
    return reason === undefined || end === undefined
      ? (end ?? { stopReason: reason ?? StopReason.DONE })
      : { ...end, stopReason: reason };
  } catch (error) {
    if (reason !== undefined) return { stopReason: reason };
    throw error;
  } finally {
    life.over = true;
    wall?.cancel();
  }
}

/** Resolves some time after the turn was ended early, for a harness that does not stop by itself. */
function stopped(early: AbortSignal, work: Promise<TurnEnd>, runtime: Runtime): Promise<undefined> {
  return new Promise((resolve) => {
    early.addEventListener("abort", () => {
      const grace = runtime.clock.setTimer(stopGraceMs, () => resolve(undefined));
      work.then(
        () => grace.cancel(),
        () => grace.cancel(),
      );
    });
  });
}
