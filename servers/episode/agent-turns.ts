import { create } from "@bufbuild/protobuf";
import type { AgentSessionClient, CallOptions, ModelClient } from "../../clients/index.js";
import {
  type ActivateResponse,
  type AgentEnd,
  AgentEndSchema,
  type AgentSubmission,
  AgentSubmissionSchema,
  type AgentView,
  type Artifact,
  Boundary,
  type Budget,
  type CapturedCall,
  CaptureLevel,
  type CloseGatewayResponse,
  type Failure,
  FailureKind,
  Feature,
  type Item,
  type ModelAccess,
  OnAgentFailure,
  ResourceKind,
  Retry,
  Stage,
  type ToolList,
  type Usage,
  UsageSchema,
} from "../../gen/index.js";
import { fromMs, toMs } from "../runtime/duration.js";
import { OperationFailure, toFailure } from "../runtime/failure.js";
import type { AgentPart } from "./cast.js";
import type { OpenAgent, TurnEnded } from "./define-driver.js";
import { type EpisodeRun, expecting } from "./episode-run.js";

/** What is known of one agent's session. */
interface AgentSessionRecord {
  readonly agentId: string;
  readonly part: AgentPart;
  /** For what follows Open; it takes the answers of the instance that opened the session only. */
  client: AgentSessionClient;
  readonly sessionId: string;
  readonly gatewayId: string | undefined;
  model: ModelClient | undefined;
  readonly items: Item[];
  readonly artifacts: Artifact[];
  readonly end: AgentEnd;
  readonly calls: CapturedCall[];
  gateway: CloseGatewayResponse | undefined;
  captureFailure: string | undefined;
  closed: boolean;
}

/** The agents' side of an episode: gateways, sessions, turns, captures. */
export class AgentTurns {
  readonly #sessions: AgentSessionRecord[] = [];

  constructor(private readonly episode: EpisodeRun) {}

  /** Whether any agent declares REFERENCE, so that a reference is worth asking for. */
  someoneTakesReference(): boolean {
    return [...this.episode.parts.described.agents.values()].some(({ agent }) =>
      agent.service?.features.includes(Feature.REFERENCE),
    );
  }

  /** The task's reference was given to an agent. */
  referenceGiven = false;

  get ends(): AgentEnd[] {
    return this.#sessions.map(({ end }) => end);
  }

  /** Opens the gateway of an agent that needs a model, then its session. */
  async open(view: AgentView): Promise<OpenAgent> {
    const { episode } = this;
    const { cast, described, timeouts } = episode.parts;
    const part = cast.agents.get(view.agentId);
    const says = described.agents.get(view.agentId);
    if (part === undefined || says === undefined) {
      throw new OperationFailure({
        kind: FailureKind.PROTOCOL_VIOLATION,
        stage: Stage.OPEN,
        agentId: view.agentId,
        retry: Retry.NEVER,
        reason: `the session has an agent "${view.agentId}", and the run binds nobody to it`,
      });
    }
    const needsModel = says.agent.modelDialects.length > 0 || says.agent.customModelDialects.length > 0;
    const model = needsModel ? part.model?.client(episode.clientOptions) : undefined;
    const record: AgentSessionRecord = {
      agentId: view.agentId,
      part,
      client: part.agent.client(episode.clientOptions),
      sessionId: episode.newId("a"),
      gatewayId: model === undefined ? undefined : episode.newId("g"),
      model,
      items: [],
      artifacts: [],
      end: create(AgentEndSchema, { agentId: view.agentId, usage: create(UsageSchema) }),
      calls: [],
      gateway: undefined,
      captureFailure: undefined,
      closed: false,
    };
    this.#sessions.push(record);
    const accesses =
      model === undefined
        ? []
        : await episode.phase(
            {
              stage: Stage.OPEN_GATEWAY,
              timing: "open",
              boundary: Boundary.MODEL,
              timeoutMs: timeouts.openMs,
              agentId: view.agentId,
              inEpisodeClock: true,
            },
            (options) => this.#openGateway(record, options),
          );
    await episode.phase(
      {
        stage: Stage.OPEN,
        timing: "open",
        boundary: Boundary.AGENT,
        timeoutMs: timeouts.openMs,
        agentId: view.agentId,
        inEpisodeClock: true,
      },
      (options) => this.#openSession(record, { view, accesses }, options),
    );
    return {
      agentId: view.agentId,
      activate: (input, how) => this.#activate(record, input, how?.tools),
      close: () => this.#close(record),
    };
  }

  async #openGateway(record: AgentSessionRecord, options: CallOptions): Promise<ModelAccess[]> {
    const { episode } = this;
    const { request, episodeId, timeouts } = episode.parts;
    const { model, gatewayId, part, agentId } = record;
    if (model === undefined || gatewayId === undefined) return [];
    episode.stack.own({
      intent: episode.intent({
        kind: ResourceKind.GATEWAY,
        binding: part.binding.model,
        id: gatewayId,
        agentId,
      }),
      release: async (signal) => {
        episode.renewals.stop(gatewayId);
        const closed = await (record.model ?? model).closeGateway({ gatewayId, episodeId }, { signal });
        record.gateway = closed;
        return closed.receipt;
      },
    });
    const response = await model.openGateway(
      {
        gatewayId,
        ...(request.context === undefined ? {} : { context: request.context }),
        agentId,
        ...(part.binding.sampling === undefined ? {} : { sampling: part.binding.sampling }),
        capture: request.capture === CaptureLevel.UNSPECIFIED ? CaptureLevel.ITEMS : request.capture,
        ...(episode.environment.session?.task?.taskId === undefined
          ? {}
          : { taskId: episode.environment.session.task.taskId }),
        timeout: fromMs(timeouts.openMs),
      },
      options,
    );
    const { endpoint } = response;
    const further =
      endpoint === undefined ? model : (part.model?.client(episode.clientOptions, endpoint) ?? model);
    record.model = further;
    episode.renewals.start(
      gatewayId,
      response.lease,
      async () => (await further.keepAlive({ gatewayId })).lease,
    );
    return response.accesses;
  }

  async #openSession(
    record: AgentSessionRecord,
    { view, accesses }: { view: AgentView; accesses: ModelAccess[] },
    options: CallOptions,
  ): Promise<void> {
    const { episode } = this;
    const { request, episodeId, timeouts, described } = episode.parts;
    const { sessionId, part, agentId } = record;
    let instance: string | undefined;
    const opening = part.agent.client({
      ...episode.clientOptions,
      onInstance: (id) => {
        instance = id;
      },
    });
    let closing = opening;
    const { session, reference } = episode.environment;
    const budget = part.binding.budget ?? session?.limits?.agentBudget;
    const takesReference =
      described.agents.get(agentId)?.agent.service?.features.includes(Feature.REFERENCE) ?? false;
    const given = takesReference && request.giveReference ? reference : undefined;
    episode.stack.own({
      intent: episode.intent({
        kind: ResourceKind.AGENT_SESSION,
        binding: part.binding.agent,
        id: sessionId,
        agentId,
      }),
      release: async (signal) => {
        episode.renewals.stop(sessionId);
        const closed = await closing.close({ sessionId, episodeId }, { signal });
        if (closed.usage !== undefined) record.end.usage = closed.usage;
        return closed.receipt;
      },
    });
    const response = await opening.open(
      {
        sessionId,
        ...(request.context === undefined ? {} : { context: request.context }),
        ...(session?.task?.taskId === undefined ? {} : { taskId: session.task.taskId }),
        agentId,
        tools: view.tools,
        toolAccesses: view.toolAccesses,
        ...(view.sandbox === undefined ? {} : { sandbox: view.sandbox }),
        modelAccesses: accesses,
        instructions: part.binding.instructions,
        ...(budget === undefined ? {} : { budget }),
        optionsJson: part.binding.optionsJson,
        ...(given === undefined ? {} : { reference: given }),
        timeout: fromMs(timeouts.openMs),
      },
      options,
    );
    const client = part.agent.client(expecting(episode.clientOptions, instance), response.endpoint);
    record.client = client;
    closing = part.agent.client(episode.clientOptions, response.endpoint);
    if (given !== undefined) this.referenceGiven = true;
    episode.unenforced.push(
      ...weaker(budget, response.budget).map((field) => `agent ${agentId}: budget.${field}`),
    );
    episode.renewals.start(
      sessionId,
      response.lease,
      async () => (await client.keepAlive({ sessionId })).lease,
    );
  }

  async #activate(
    record: AgentSessionRecord,
    input: readonly Item[],
    tools: ToolList | undefined,
  ): Promise<TurnEnded> {
    const { episode } = this;
    const { timeouts, trajectory, request, finish } = episode.parts;
    const { agentId, end } = record;
    const index = end.activations;
    end.activations += 1;
    for (const item of input) trajectory.add(agentId, { case: "item", value: item });
    const output: Item[] = [];
    const onFinish = (): void => void this.#finish(record, index);
    finish.addEventListener("abort", onFinish, { once: true });
    try {
      return await episode.phase(
        {
          stage: Stage.ACTIVATE,
          timing: "activate",
          boundary: Boundary.AGENT,
          timeoutMs: timeouts.activationMs,
          agentId,
          index,
          inEpisodeClock: true,
        },
        async (options) => {
          if (finish.aborted) onFinish();
          const events = record.client.activate(
            {
              sessionId: record.sessionId,
              activationIndex: index,
              input: [...input],
              ...(tools === undefined ? {} : { tools }),
              timeout: fromMs(timeouts.activationMs),
            },
            options,
          );
          for await (const event of events) {
            const ended = this.#hear(record, event, output);
            if (ended !== undefined) return ended;
          }
          throw new Error("the activation's events ended without a terminal one");
        },
      );
    } catch (error) {
      const failure = toFailure(error, { stage: Stage.ACTIVATE, agentId });
      end.failure = failure;
      const policy = request.onAgentFailure;
      const verifies = policy === OnAgentFailure.VERIFY || policy === OnAgentFailure.VERIFY_MASKED;
      // E5, E6: the episode's own end is not the agent's failure, whatever the policy says.
      if (!verifies || episode.ended) throw error;
      return { stopReason: undefined, output };
    } finally {
      finish.removeEventListener("abort", onFinish);
      record.items.push(...output);
      if (request.includeItems) for (const item of output) episode.tell({ case: "item", value: item });
      for (const item of output) trajectory.add(agentId, { case: "item", value: item });
    }
  }

  #hear(record: AgentSessionRecord, { event }: ActivateResponse, output: Item[]): TurnEnded | undefined {
    switch (event.case) {
      case "item":
        output.push(event.value);
        return undefined;
      case "completed": {
        const { stopReason, artifacts } = event.value;
        // The terminal event is complete by itself (ALL-EVT-004).
        output.splice(0, output.length, ...event.value.output);
        record.artifacts.push(...artifacts);
        record.end.stopReason = stopReason;
        addUsage(record.end, event.value.usage);
        return { stopReason, output };
      }
      case "failed":
        addUsage(record.end, event.value.usage);
        throw new OperationFailure(event.value.failure ?? unknownFailure(record.agentId));
      default:
        return undefined;
    }
  }

  /** Stop FINISH: ends the turn, keeping its work (EPI-STOP-003). */
  async #finish(record: AgentSessionRecord, index: number): Promise<void> {
    const { agentId, client, sessionId } = record;
    const features = this.episode.parts.described.agents.get(agentId)?.agent.service?.features ?? [];
    try {
      if (features.includes(Feature.INTERRUPT)) await client.interrupt({ sessionId, activationIndex: index });
      else await client.close({ sessionId, episodeId: this.episode.parts.episodeId });
    } catch {
      // The turn goes on to its own end, which the activation's events tell.
    }
  }

  async #close(record: AgentSessionRecord): Promise<void> {
    const { episode } = this;
    const { agentId, gatewayId } = record;
    if (record.closed) return;
    record.closed = true;
    const { timeouts } = episode.parts;
    await this.#told(Stage.CLOSE_AGENT, agentId, () => episode.stack.release(record.sessionId));
    if (gatewayId === undefined) return;
    await this.#told(Stage.CLOSE_GATEWAY, agentId, async () => {
      await this.#readCapture(record, timeouts.cleanUpMs);
      await episode.stack.release(gatewayId);
    });
    const called = record.gateway?.calls;
    if (called === 0n && record.end.failure === undefined) {
      // EPI-RUN-010, field-case-088
      throw new OperationFailure({
        kind: FailureKind.NO_MODEL_CALLS,
        stage: Stage.ACTIVATE,
        agentId,
        retry: Retry.NEVER,
        reason: "the agent needs a model and never called it: nothing that it did can be its policy's",
      });
    }
  }

  async #told(stage: Stage, agentId: string, work: () => Promise<unknown>): Promise<void> {
    this.episode.tell({
      case: "stage",
      value: { $typeName: "touchstone.v1.StageBegun", stage, agentId, index: 0 },
    });
    await work();
  }

  /** Reads what the gateway captured; a fault costs the tokens, never the verdict (EPI-GATE-002, EPI-GATE-003). */
  async #readCapture(record: AgentSessionRecord, timeoutMs: number): Promise<void> {
    const { model, gatewayId, agentId } = record;
    if (model === undefined || gatewayId === undefined) return;
    const { trajectory } = this.episode.parts;
    try {
      for await (const { call } of model.readCapture({ gatewayId }, { timeoutMs })) {
        if (call === undefined) continue;
        record.calls.push(call);
        trajectory.add(agentId, { case: "call", value: call });
      }
    } catch (error) {
      record.captureFailure = error instanceof Error ? error.message : "could not be read";
      trajectory.miss(`capture of agent ${agentId}: ${record.captureFailure}`);
    }
  }

  /** What each agent hands in. */
  submissions(): AgentSubmission[] {
    return this.#sessions.map(({ agentId, items, artifacts, end }) =>
      create(AgentSubmissionSchema, { agentId, items, artifacts, agentEnd: end }),
    );
  }

  /** Why the tokens of the episode may not be trained on; empty: they may (EPI-TRN-001, EPI-TRN-002). */
  untrainable(): string[] {
    const reasons: string[] = [];
    let calls = 0;
    for (const record of this.#sessions) {
      const { agentId } = record;
      if (record.captureFailure !== undefined) reasons.push(`capture of agent ${agentId} could not be read`);
      if ((record.gateway?.captureFaults ?? 0n) > 0n)
        reasons.push(`capture of agent ${agentId} is not whole`);
      if (record.gateway !== undefined && record.gateway.calls !== BigInt(record.calls.length)) {
        reasons.push(
          `capture of agent ${agentId} has ${record.calls.length} of ${record.gateway.calls} calls`,
        );
      }
      calls += record.calls.length;
      if (record.calls.some(({ choices }) => choices.some(({ tokens }) => tokens === undefined))) {
        reasons.push(`model calls of agent ${agentId} have no token records`);
      }
    }
    if (calls === 0) reasons.push("the agents made no model calls");
    return reasons;
  }

  /** Versions of the weights that answered an agent. */
  weightsVersions(agentId: string): string[] {
    const versions = new Set<string>();
    for (const record of this.#sessions) {
      if (record.agentId !== agentId) continue;
      for (const { choices } of record.calls) {
        for (const { tokens } of choices)
          for (const { version } of tokens?.weightSpans ?? []) versions.add(version);
      }
    }
    return [...versions];
  }
}

function unknownFailure(agentId: string): Failure {
  return toFailure(new Error("a failed activation without a failure"), { stage: Stage.ACTIVATE, agentId });
}

function addUsage(end: AgentEnd, usage: Usage | undefined): void {
  if (usage !== undefined) end.usage = usage;
}

/** Fields of a budget that are echoed weaker than asked. */
function weaker(asked: Budget | undefined, held: Budget | undefined): string[] {
  if (asked === undefined) return [];
  const fields: string[] = [];
  const compare = (name: string, a: number | bigint | undefined, b: number | bigint | undefined): void => {
    if (a !== undefined && (b === undefined || b > a)) fields.push(name);
  };
  compare("max_turns", asked.maxTurns, held?.maxTurns);
  compare("max_tool_calls", asked.maxToolCalls, held?.maxToolCalls);
  compare("max_output_tokens", asked.maxOutputTokens, held?.maxOutputTokens);
  compare("max_total_tokens", asked.maxTotalTokens, held?.maxTotalTokens);
  compare("max_context_tokens", asked.maxContextTokens, held?.maxContextTokens);
  compare("max_cost_usd", asked.maxCostUsd, held?.maxCostUsd);
  compare("wall_time", asked.wallTime && toMs(asked.wallTime), held?.wallTime && toMs(held.wallTime));
  return fields;
}
