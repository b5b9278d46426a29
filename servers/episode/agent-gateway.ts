import { type ClientCallOptions, instanceOf, type ModelClient } from "../../clients/index.js";
import {
  Boundary,
  type CapturedCall,
  CaptureLevel,
  type CloseGatewayResponse,
  type ModelAccess,
  ResourceKind,
  Stage,
} from "../../gen/index.js";
import { fromMs } from "../runtime/duration.js";
import type { OperationFailure } from "../runtime/failure.js";
import type { AgentPart } from "./cast.js";
import type { EpisodeRun } from "./episode-run.js";

/** What a gateway is made of. */
export interface AgentGatewayParts {
  readonly episode: EpisodeRun;
  readonly part: AgentPart;
  /** Told where the gateway is gone. */
  readonly onLost: (failure: OperationFailure) => void;
}

/** The gateway of one agent's session: its way to the model, and what that captured. */
export class AgentGateway {
  readonly calls: CapturedCall[] = [];
  /** What CloseGateway answered; undefined: it did not. */
  closed: CloseGatewayResponse | undefined;
  /** The capture was read to its end. */
  captureRead = false;
  /** The instance that opened it; undefined: it told none. */
  instance: string | undefined;
  readonly #episode: EpisodeRun;
  readonly #agentId: string;
  readonly #part: AgentPart;
  readonly #id: string;
  /** For what follows OpenGateway; any instance may answer CloseGateway. */
  #client: ModelClient;
  readonly #onLost: (failure: OperationFailure) => void;
  #opened = false;

  constructor({ episode, part, onLost }: AgentGatewayParts, opening: ModelClient) {
    this.#episode = episode;
    this.#onLost = onLost;
    this.#part = part;
    this.#agentId = part.binding.agentId;
    this.#id = episode.newId("g");
    this.#client = opening;
  }

  /** Calls that the agent made of its model; undefined where neither the gateway nor its capture could tell. */
  get callCount(): number | undefined {
    // A model server that was restarted knows nothing of the gateway: its 0 calls are no count.
    const { closed } = this;
    if (closed !== undefined && closed.receipt?.neverOpened !== true) return Number(closed.calls);
    return this.captureRead ? this.calls.length : undefined;
  }

  /** Opens it and answers the ways to the model (EPI-GATE-001). */
  async open(): Promise<ModelAccess[]> {
    return await this.#episode.phases.run(
      {
        stage: Stage.OPEN_GATEWAY,
        timing: "open",
        boundary: Boundary.MODEL,
        bound: "openMs",
        agentId: this.#agentId,
        inEpisodeClock: true,
      },
      (options) => this.#open(options),
    );
  }

  /** Reads what was captured, then closes the gateway: its own order of clean-up (EPI-GATE-002). Never throws. */
  async close(): Promise<void> {
    const { phases, stack } = this.#episode;
    phases.begin(Stage.CLOSE_GATEWAY, this.#agentId);
    await stack.release(this.#captureId);
    await stack.release(this.#id);
  }

  get #captureId(): string {
    return `capture of ${this.#id}`;
  }

  async #open(options: ClientCallOptions): Promise<ModelAccess[]> {
    const episode = this.#episode;
    const { request, timeouts } = episode.parts;
    const opening = this.#client;
    const gatewayId = this.#id;
    this.#own();
    const taskId = episode.environment.session?.task?.taskId;
    const { sampling } = this.#part.binding;
    const response = await opening.openGateway(
      {
        gatewayId,
        ...episode.context,
        agentId: this.#agentId,
        ...(sampling === undefined ? {} : { sampling }),
        capture: request.capture === CaptureLevel.UNSPECIFIED ? CaptureLevel.ITEMS : request.capture,
        ...(taskId === undefined ? {} : { taskId }),
        timeout: fromMs(timeouts.openMs),
      },
      {
        ...options,
        onInfo: (info) => {
          this.instance = instanceOf(info);
        },
      },
    );
    this.#opened = true;
    const { endpoint, lease } = response;
    const { instance } = this;
    const { model } = this.#part;
    if (endpoint !== undefined && model !== undefined) {
      this.#client = model.client(episode.clientOptions, endpoint);
      episode.stack.moved(gatewayId, endpoint);
    }
    const renewing = model?.client(episode.following({ instance, endpoint }), endpoint) ?? this.#client;
    episode.renewals.start({
      id: gatewayId,
      boundary: Boundary.MODEL,
      lease,
      renew: async (signal) => (await renewing.keepAlive({ gatewayId }, { signal })).lease,
      onLost: this.#onLost,
    });
    return response.accesses;
  }

  #own(): void {
    const episode = this.#episode;
    const gatewayId = this.#id;
    const { episodeId } = episode.parts;
    episode.stack.own({
      intent: episode.intent({
        kind: ResourceKind.GATEWAY,
        binding: this.#part.binding.model,
        id: gatewayId,
        agentId: this.#agentId,
      }),
      boundary: Boundary.MODEL,
      release: async (options) => {
        episode.renewals.stop(gatewayId);
        this.closed = await this.#client.closeGateway({ gatewayId, episodeId }, options);
        return this.closed.receipt;
      },
    });
    // Registered behind the gateway, so that it comes before its Close.
    episode.stack.defer(this.#captureId, ({ signal }) => this.#readCapture(signal));
  }

  /** Reads what the gateway captured; a fault costs the tokens, never the verdict (EPI-GATE-003). */
  async #readCapture(signal: AbortSignal | undefined): Promise<void> {
    if (!this.#opened) return;
    const { trajectory } = this.#episode.parts;
    const options = signal === undefined ? {} : { signal };
    try {
      for await (const { call } of this.#client.readCapture({ gatewayId: this.#id }, options)) {
        if (call === undefined) continue;
        this.calls.push(call);
        trajectory.add(this.#agentId, { case: "call", value: call });
      }
      this.captureRead = true;
    } catch {
      trajectory.miss(`the model calls of agent ${this.#agentId} could not be read to their end`);
    }
  }
}
