import { create } from "@bufbuild/protobuf";
import { type AgentSessionClient, type ClientCallOptions, rpcName } from "../../clients/index.js";
import {
  type ActivateResponse,
  type ActivationCompleted,
  type AgentEnd,
  AgentEndSchema,
  AgentSessionService,
  type AgentView,
  type Artifact,
  Boundary,
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
  UsageSchema,
} from "../../gen/index.js";
import { fromMs } from "../runtime/duration.js";
import { OperationFailure, toFailure } from "../runtime/failure.js";
import { tighterBudget } from "../runtime/tighter-budget.js";
import { addUsage } from "../runtime/usage.js";
import type { AgentGateway } from "./agent-gateway.js";
import { answeredFailure } from "./answered-failure.js";
import type { AgentPart } from "./cast.js";
import type { AgentDescribed } from "./cast-described.js";
import type { TurnEnded } from "./define-driver.js";
import type { EpisodeRun } from "./episode-run.js";
import { HeardTurn } from "./heard-turn.js";
import { weakerBudget } from "./weaker-echoes.js";

/** What a seat is made of. */
export interface AgentSeatParts {
  readonly episode: EpisodeRun;
  readonly part: AgentPart;
  readonly says: AgentDescribed;
  /** Its way to a model; undefined: it needs none. */
  readonly gateway: AgentGateway | undefined;
}

/** One agent's place in an episode: its session, its turns, what it says and hands in. */
export class AgentSeat {
  readonly items: Item[] = [];
  readonly artifacts: Artifact[] = [];
  readonly end: AgentEnd;
  readonly gateway: AgentGateway | undefined;
  /** The task's reference went out to it. */
  referenceGiven = false;
  readonly #parts: AgentSeatParts;
  readonly #sessionId: string;
  /** For what follows Open: it takes the answers of the instance that opened the session only (EPI-E6-011). */
  #client: AgentSessionClient;
  /** For Close, which any instance may answer. */
  #closing: AgentSessionClient;
  #closed = false;

  constructor(parts: AgentSeatParts) {
    const { episode, part, gateway } = parts;
    this.#parts = parts;
    this.gateway = gateway;
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
    let instance: string | undefined;
    const onInstance = (id: string): void => {
      instance = id;
    };
    this.#own();
    const reference = this.#reference();
    // What may have been delivered counts as given.
    this.referenceGiven = reference !== undefined;
    const budget = this.#budget();
    const response = await agent.client({ ...episode.clientOptions, onInstance }).open(
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
      options,
    );
    const { endpoint, lease } = response;
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
        if (closed.usage !== undefined && closed.activations > 0) this.end.usage = closed.usage;
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

  /** What each of its turns may use: the run's budget within the task's (EPI-RUN-015). */
  #budget() {
    const asked = this.#parts.part.binding.budget;
    const ofTask = this.#parts.episode.environment.session?.limits?.agentBudget;
    return asked === undefined || ofTask === undefined ? (asked ?? ofTask) : tighterBudget(asked, ofTask);
  }

  /** Gives it its turn. Throws where its failure is the episode's (EPI-E6-006). */
  async activate(input: readonly Item[], tools?: ToolList): Promise<TurnEnded> {
    const { episode } = this.#parts;
    const { finish } = episode.parts;
    if (finish.aborted) {
      // EPI-STOP-003: there is no turn to end any more.
      this.end.stopReason = StopReason.INTERRUPTED;
      return { stopReason: StopReason.INTERRUPTED, output: [] };
    }
    const index = this.end.activations;
    this.end.activations += 1;
    this.#record(input);
    const turn = new HeardTurn((item) => {
      this.#record([item]);
      if (episode.parts.request.includeItems) episode.tell({ case: "item", value: item });
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
        (options) => this.#activate({ index, input: [...input], tools, turn }, options),
      );
      this.artifacts.push(...completed.artifacts);
      this.end.stopReason = completed.stopReason;
      return { stopReason: completed.stopReason, output: turn.output };
    } catch (error) {
      return { stopReason: this.#failed(error), output: turn.output };
    } finally {
      this.items.push(...turn.output);
    }
  }

  #record(items: readonly Item[]): void {
    const { trajectory } = this.#parts.episode.parts;
    for (const item of items) trajectory.add(this.agentId, { case: "item", value: item });
  }

  /** Follows a turn to its end. Throws the failure that the agent told. */
  async #activate(
    asked: { index: number; input: Item[]; tools: ToolList | undefined; turn: HeardTurn },
    options: ClientCallOptions,
  ): Promise<ActivationCompleted> {
    const { episode } = this.#parts;
    const { finish, timeouts } = episode.parts;
    const { index, input, tools, turn } = asked;
    const budget = this.#budget();
    const events = this.#client.activate(
      {
        sessionId: this.#sessionId,
        activationIndex: index,
        input,
        ...(budget === undefined ? {} : { budget }),
        ...(tools === undefined ? {} : { tools }),
        timeout: fromMs(timeouts.activationMs),
      },
      options,
    );
    let begun = false;
    const onFinish = (): void => {
      if (begun) void this.#endTurn(index, options);
    };
    finish.addEventListener("abort", onFinish, { once: true });
    try {
      for await (const event of events) {
        if (!begun && event.sequence > 0n) {
          begun = true;
          if (finish.aborted) onFinish();
        }
        const completed = this.#hear(event, turn);
        if (completed !== undefined) return completed;
      }
      throw new Error("a followed activation ended without a terminal event");
    } finally {
      finish.removeEventListener("abort", onFinish);
    }
  }

  #hear({ event }: ActivateResponse, turn: HeardTurn): ActivationCompleted | undefined {
    switch (event.case) {
      case "item":
        turn.hear(event.value);
        return undefined;
      case "gap":
        turn.gap();
        return undefined;
      case "completed":
        turn.complete(event.value);
        this.#used(event.value.usage);
        return event.value;
      case "failed": {
        this.#used(event.value.usage);
        const rpc = rpcName(AgentSessionService.method.activate);
        throw answeredFailure(event.value.failure, { boundary: Boundary.AGENT, rpc });
      }
      default:
        return undefined;
    }
  }

  #used(usage: ActivationCompleted["usage"]): void {
    if (usage !== undefined && this.end.usage !== undefined) addUsage(this.end.usage, usage);
  }

  /** What an activation's error means: the end of its turn, or a failure that the run's policy lets be verified. */
  #failed(error: unknown): StopReason | undefined {
    const { phases, parts } = this.#parts.episode;
    const { finish, request } = parts;
    // E5, E6: the episode's own end is not the agent's failure, whatever the policy says.
    if (phases.ended) throw error;
    const failure = toFailure(error, { stage: Stage.ACTIVATE, agentId: this.agentId });
    if (finish.aborted && failure.kind === FailureKind.CANCELLED) {
      this.end.stopReason = StopReason.INTERRUPTED;
      return StopReason.INTERRUPTED;
    }
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
    if (this.gateway?.callCount === 0 && this.end.failure === undefined) throw this.#noModelCalls();
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
