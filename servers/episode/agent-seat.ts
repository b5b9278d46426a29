import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type AgentSessionClient, type ClientCallOptions, instanceOf } from "../../clients/index.js";
import {
  type ActivateRequestSchema,
  type ActivationCompleted,
  type AgentEnd,
  AgentEndSchema,
  type AgentView,
  type Artifact,
  Boundary,
  type Budget,
  FailureKind,
  Feature,
  type Item,
  type ModelAccess,
  OnAgentFailure,
  ResourceKind,
  Retry,
  Stage,
  StopReason,
  type ToolList,
  type Usage,
  UsageSchema,
} from "../../gen/index.js";
import { fromMs } from "../runtime/duration.js";
import { OperationFailure, toFailure } from "../runtime/failure.js";
import { tighterBudget } from "../runtime/tighter-budget.js";
import { addUsage } from "../runtime/usage.js";
import { AgentGateway } from "./agent-gateway.js";
import type { AgentPart } from "./cast.js";
import { type AgentDescribed, needsModel } from "./cast-described.js";
import type { TurnEnded, TurnOptions } from "./define-driver.js";
import type { EpisodeRun } from "./episode-run.js";
import { HeardTurn } from "./heard-turn.js";
import { weakerBudget } from "./weaker-echoes.js";

/** What a seat is made of. */
export interface AgentSeatParts {
  readonly episode: EpisodeRun;
  readonly part: AgentPart;
  readonly says: AgentDescribed;
  /** Its failure is the world's, never a score of the others. */
  readonly partOfWorld: boolean;
}

/** One agent's place in an episode: its session, its turns, what it says and hands in. */
export class AgentSeat {
  readonly items: Item[] = [];
  readonly artifacts: Artifact[] = [];
  readonly end: AgentEnd;
  /** Its way to a model; undefined: it needs none. */
  readonly gateway: AgentGateway | undefined;
  /** The task's reference went out to it. */
  referenceGiven = false;
  /** The instance that opened its session; undefined: it told none. */
  instance: string | undefined;
  readonly #parts: AgentSeatParts;
  readonly #sessionId: string;
  /** For what follows Open: it takes the answers of the instance that opened the session only (EPI-E6-011). */
  #client: AgentSessionClient;
  /** For Close, which any instance may answer. */
  #closing: AgentSessionClient;
  /** `end.usage` is the agent's own count of its whole session. */
  #counted = false;
  #closed = false;
  /** Aborts where its session or its gateway is gone: it cannot act any more. */
  readonly #lost = new AbortController();
  readonly #onLost = (failure: OperationFailure): void => this.#lost.abort(failure);

  constructor(parts: AgentSeatParts) {
    const { episode, part, says } = parts;
    this.#parts = parts;
    const model = needsModel(says.agent) ? part.model?.client(episode.clientOptions) : undefined;
    this.gateway =
      model === undefined ? undefined : new AgentGateway({ episode, part, onLost: this.#onLost }, model);
    this.#sessionId = episode.newId("a");
    this.#client = part.agent.client(episode.clientOptions);
    this.#closing = this.#client;
    this.end = create(AgentEndSchema, { agentId: part.binding.agentId, usage: create(UsageSchema) });
  }

  get agentId(): string {
    return this.end.agentId;
  }

  /** Opens the gateway of an agent that needs a model, then its session. */
  async open(view: AgentView): Promise<void> {
    const { episode } = this.#parts;
    const accesses = (await this.gateway?.open()) ?? [];
    await episode.phases.run(
      {
        stage: Stage.OPEN,
        timing: "open",
        boundary: Boundary.AGENT,
        bound: "openMs",
        agentId: this.agentId,
        inEpisodeClock: true,
      },
      (options) => this.#open(view, accesses, options),
    );
  }

  async #open(view: AgentView, accesses: ModelAccess[], options: ClientCallOptions): Promise<void> {
    const { episode, part } = this.#parts;
    const { timeouts } = episode.parts;
    const { agentId } = this;
    const sessionId = this.#sessionId;
    const { agent, binding } = part;
    const { session } = episode.environment;
    this.#own();
    const reference = this.#reference();
    // What may have been delivered counts as given.
    this.referenceGiven = reference !== undefined;
    const budget = this.#budget();
    const response = await this.#client.open(
      {
        sessionId,
        ...episode.context,
        ...(session?.task?.taskId === undefined ? {} : { taskId: session.task.taskId }),
        agentId,
        tools: view.tools,
        toolAccesses: view.toolAccesses,
        ...(view.sandbox === undefined ? {} : { sandbox: view.sandbox }),
        modelAccesses: accesses,
        instructions: binding.instructions,
        ...(budget === undefined ? {} : { budget }),
        optionsJson: binding.optionsJson,
        ...(reference === undefined ? {} : { reference }),
        timeout: fromMs(timeouts.openMs),
      },
      {
        ...options,
        onInfo: (info) => {
          this.instance = instanceOf(info);
        },
      },
    );
    const { endpoint, lease } = response;
    const { instance } = this;
    const client = agent.client(episode.following({ instance, endpoint }), endpoint);
    this.#client = client;
    if (endpoint !== undefined) {
      this.#closing = agent.client(episode.clientOptions, endpoint);
      episode.stack.moved(sessionId, endpoint);
    }
    const weaker = weakerBudget(budget, response.budget);
    episode.unenforced.push(...weaker.map((field) => `agent ${agentId}: budget.${field}`));
    episode.renewals.start({
      id: sessionId,
      boundary: Boundary.AGENT,
      lease,
      renew: async (signal) => (await client.keepAlive({ sessionId }, { signal })).lease,
      onLost: this.#onLost,
    });
  }

  #own(): void {
    const { episode, part } = this.#parts;
    const { episodeId } = episode.parts;
    const sessionId = this.#sessionId;
    episode.stack.own({
      intent: episode.intent({
        kind: ResourceKind.AGENT_SESSION,
        binding: part.binding.agent,
        id: sessionId,
        agentId: this.agentId,
      }),
      boundary: Boundary.AGENT,
      release: async (options) => {
        episode.renewals.stop(sessionId);
        const closed = await this.#closing.close({ sessionId, episodeId }, options);
        // The agent's own count of the whole session, where it gives one.
        if (closed.usage !== undefined && closed.activations > 0) {
          this.end.usage = closed.usage;
          this.#counted = true;
        }
        return closed.receipt;
      },
    });
  }

  /** The task's solution, for an agent that declares REFERENCE, where the run asked for that (EPI-RUN-006). */
  #reference() {
    const { episode, says } = this.#parts;
    const takes = says.agent.service?.features.includes(Feature.REFERENCE) ?? false;
    return takes && episode.parts.request.giveReference ? episode.environment.reference : undefined;
  }

  /** What a turn may use: the run's budget of each within what the task's, of all, has left (EPI-RUN-015). */
  #budget(left = this.#parts.episode.agents.allowances.whole) {
    const asked = this.#parts.part.binding.budget;
    return asked === undefined || left === undefined ? (asked ?? left) : tighterBudget(asked, left);
  }

  /** Gives it its turn. Throws where its failure is the episode's (EPI-E6-006). */
  async activate(input: readonly Item[], options: TurnOptions = {}): Promise<TurnEnded> {
    const { finish } = this.#parts.episode.parts;
    const { agentId } = this;
    // EPI-STOP-003: there is no turn to end any more.
    const { allowances } = this.#parts.episode.agents;
    const budget = finish.aborted ? { spent: StopReason.INTERRUPTED } : allowances.left(agentId);
    if ("spent" in budget) {
      this.end.stopReason = budget.spent;
      return { agentId, output: [], ...this.#ended(budget.spent) };
    }
    const { stopReason, output } = await this.#turn(input, options, budget.left);
    return { agentId, output, ...this.#ended(stopReason) };
  }

  /** How a turn that ended so is told. Throws where an agent that is part of the world cannot go on. */
  #ended(stopReason: StopReason | undefined): Pick<TurnEnded, "stopReason" | "goesOn"> {
    const goesOn = stopReason === StopReason.DONE || stopReason === StopReason.AWAITING_INPUT;
    const outside = stopReason === StopReason.INTERRUPTED || stopReason === StopReason.ENVIRONMENT_ENDED;
    if (this.#parts.partOfWorld && !goesOn && !outside) throw this.#worldStopped(stopReason);
    return { stopReason, goesOn };
  }

  async #turn(
    input: readonly Item[],
    { tools, signal: unwanted }: TurnOptions,
    left: Budget | undefined,
  ): Promise<Pick<TurnEnded, "stopReason" | "output">> {
    const { episode } = this.#parts;
    const { finish, clock } = episode.parts;
    const began = clock.now();
    const index = this.end.activations;
    this.end.activations += 1;
    this.#record(input);
    // The phase's own signal, for what is asked of the agent beside its turn.
    let callOptions: ClientCallOptions = {};
    const turn = new HeardTurn({
      finish,
      onFinish: () => void this.#endTurn(index, callOptions),
      onItem: (item) => {
        this.#record([item]);
        if (episode.parts.request.includeItems) episode.tell({ case: "item", value: item });
      },
    });
    try {
      const completed = await episode.phases.run(
        {
          stage: Stage.ACTIVATE,
          timing: "activate",
          boundary: Boundary.AGENT,
          bound: "activationMs",
          agentId: this.agentId,
          index,
          inEpisodeClock: true,
        },
        (options) => {
          callOptions = options;
          return this.#follow(turn, this.#activation(index, input, { tools, left }), {
            options,
            unwanted,
          });
        },
      );
      this.artifacts.push(...completed.artifacts);
      this.end.stopReason = completed.stopReason;
      return { stopReason: completed.stopReason, output: turn.output };
    } catch (error) {
      if (unwanted?.aborted) {
        this.end.stopReason = StopReason.INTERRUPTED;
        throw unwanted.reason;
      }
      return { stopReason: this.#failed(error), output: turn.output };
    } finally {
      this.items.push(...turn.output);
      this.#addUsage(turn.usage);
      episode.agents.allowances.count(this.agentId, turn.usage, clock.now() - began);
    }
  }

  /** Follows a turn until it ends, or the agent is lost: then that is its failure. */
  async #follow(
    turn: HeardTurn,
    request: MessageInitShape<typeof ActivateRequestSchema>,
    { options, unwanted }: { options: ClientCallOptions; unwanted: AbortSignal | undefined },
  ): Promise<ActivationCompleted> {
    const lost = this.#lost.signal;
    const signal = AbortSignal.any([options.signal, unwanted, lost].filter((each) => each !== undefined));
    try {
      lost.throwIfAborted();
      return await turn.follow(this.#client.activate(request, { ...options, signal }));
    } catch (error) {
      throw lost.aborted ? lost.reason : error;
    }
  }

  #activation(
    activationIndex: number,
    input: readonly Item[],
    { tools, left }: { readonly tools: ToolList | undefined; readonly left: Budget | undefined },
  ): MessageInitShape<typeof ActivateRequestSchema> {
    const budget = this.#budget(left);
    return {
      sessionId: this.#sessionId,
      activationIndex,
      input: [...input],
      ...(budget === undefined ? {} : { budget }),
      ...(tools === undefined ? {} : { tools }),
      timeout: fromMs(this.#parts.episode.parts.timeouts.activationMs),
    };
  }

  #record(items: readonly Item[]): void {
    const { trajectory } = this.#parts.episode.parts;
    for (const item of items) trajectory.add(this.agentId, { case: "item", value: item });
  }

  /** Counts what a turn used, unless the agent's own count of all has come before. */
  #addUsage(used: Usage | undefined): void {
    if (used !== undefined && this.end.usage !== undefined && !this.#counted) addUsage(this.end.usage, used);
  }

  /** What an activation's error means: the end of its turn, or a failure that the run's policy lets be verified. */
  #failed(error: unknown): StopReason | undefined {
    const { phases, parts } = this.#parts.episode;
    const { finish, request } = parts;
    // E5, E6: the episode's own end is not the agent's failure, whatever the policy says.
    if (phases.ended || !(error instanceof OperationFailure)) throw error;
    const failure = toFailure(error, { stage: Stage.ACTIVATE, agentId: this.agentId });
    if (finish.aborted && failure.kind === FailureKind.CANCELLED) {
      this.end.stopReason = StopReason.INTERRUPTED;
      return StopReason.INTERRUPTED;
    }
    if (this.#parts.partOfWorld) throw error;
    const policy = request.onAgentFailure;
    if (policy !== OnAgentFailure.VERIFY && policy !== OnAgentFailure.VERIFY_MASKED) throw error;
    // EPI-AGF-001
    this.end.failure = failure;
    this.end.stopReason = StopReason.UNSPECIFIED;
    return undefined;
  }

  /** Stop FINISH: ends the turn, keeping its work (EPI-STOP-003); an agent without Interrupt is closed for that. */
  async #endTurn(index: number, options: ClientCallOptions): Promise<void> {
    const { episode, says } = this.#parts;
    const sessionId = this.#sessionId;
    if (says.agent.service?.features.includes(Feature.INTERRUPT)) {
      const ended = await this.#client
        .interrupt({ sessionId, activationIndex: index }, options)
        .then(() => true)
        .catch(() => false);
      if (ended) return;
    }
    await episode.stack.release(sessionId);
  }

  /** Closes its session, then its gateway. Throws where it never called the model that it needs. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    const { episode } = this.#parts;
    episode.phases.begin(Stage.CLOSE_AGENT, this.agentId);
    await episode.stack.release(this.#sessionId);
    await this.gateway?.close();
    episode.phases.signal.throwIfAborted();
    const silent = this.gateway?.callCount === 0 && this.end.activations > 0;
    if (silent && this.end.failure === undefined) throw this.#noModelCalls();
  }

  /** The part that it plays cannot be played to its end: that says nothing about the others' work. */
  #worldStopped(stopReason: StopReason | undefined): OperationFailure {
    const why = stopReason === undefined ? "its failure" : (StopReason[stopReason] ?? String(stopReason));
    return new OperationFailure({
      kind: FailureKind.CUSTOM,
      customKind: "touchstone:world_agent_stopped",
      stage: Stage.ACTIVATE,
      agentId: this.agentId,
      retry: Retry.NEW_ATTEMPT,
      reason: `agent "${this.agentId}" plays a part of the world and could not go on: ${why}`,
    });
  }

  /** EPI-RUN-010, field-case-088 */
  #noModelCalls(): OperationFailure {
    return new OperationFailure({
      kind: FailureKind.NO_MODEL_CALLS,
      stage: Stage.ACTIVATE,
      agentId: this.agentId,
      retry: Retry.NEVER,
      reason: "the agent needs a model and never called it: nothing that it did can be its policy's",
    });
  }
}
