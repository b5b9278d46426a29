import { clone, create } from "@bufbuild/protobuf";
import {
  type AgentEnd,
  AgentEndSchema,
  type AgentSubmission,
  AgentSubmissionSchema,
  type AgentView,
  FailureKind,
  Feature,
  Retry,
  Stage,
} from "../../gen/index.js";
import { OperationFailure } from "../runtime/failure.js";
import { addUsage } from "../runtime/usage.js";
import { AgentSeat } from "./agent-seat.js";
import { Allowances } from "./allowances.js";
import type { OpenAgent, OpenAgentOptions } from "./define-driver.js";
import type { EpisodeRun } from "./episode-run.js";

/** The agents' side of an episode; an agent may have several sessions, one after the other. */
export class AgentTurns {
  readonly seats: AgentSeat[] = [];
  /** What each agent may use, and has used of it. */
  readonly allowances = new Allowances();

  constructor(private readonly episode: EpisodeRun) {}

  /** Whether any agent declares REFERENCE, so that a reference is worth asking for. */
  get someoneTakesReference(): boolean {
    return [...this.episode.bound.described.agents.values()].some(({ agent }) =>
      agent.service?.features.includes(Feature.REFERENCE),
    );
  }

  /** How the agents' parts ended (EPI-OUT-004). */
  get ends(): AgentEnd[] {
    return this.#byAgent.map(endOf);
  }

  /** What each agent hands in (EPI-RUN-016). */
  get submissions(): AgentSubmission[] {
    return this.#byAgent.map((seats) =>
      create(AgentSubmissionSchema, {
        agentId: seats[0].agentId,
        items: seats.flatMap(({ items }) => items),
        artifacts: seats.flatMap(({ artifacts }) => artifacts),
        agentEnd: endOf(seats),
      }),
    );
  }

  get #byAgent(): Seats[] {
    const byAgent = new Map<string, Seats>();
    for (const seat of this.seats) {
      const known = byAgent.get(seat.agentId);
      if (known === undefined) byAgent.set(seat.agentId, [seat]);
      else known.push(seat);
    }
    return [...byAgent.values()];
  }

  /** Opens an agent's gateway, if it needs a model, and its session. */
  async open(view: AgentView, { partOfWorld = false }: OpenAgentOptions = {}): Promise<OpenAgent> {
    const { episode } = this;
    const { agents, described } = episode.bound;
    const part = agents.get(view.agentId);
    const says = described.agents.get(view.agentId);
    if (part === undefined || says === undefined) throw nobodyBound(view.agentId);
    const seat = new AgentSeat({ episode, part, says, partOfWorld });
    this.seats.push(seat);
    await seat.open(view);
    return {
      agentId: seat.agentId,
      activate: (input, options) => seat.activate(input, options),
      close: () => seat.close(),
    };
  }
}

/** The sessions of one agent, in order. */
type Seats = [AgentSeat, ...AgentSeat[]];

/** How an agent's part ended: as its last session did, with what it used in all. */
function endOf([first, ...further]: Seats): AgentEnd {
  if (further.length === 0) return first.end;
  const end = clone(AgentEndSchema, first.end);
  for (const { end: later } of further) {
    if (later.activations > 0) end.stopReason = later.stopReason;
    if (later.failure !== undefined) end.failure ??= later.failure;
    end.activations += later.activations;
    if (end.usage !== undefined && later.usage !== undefined) addUsage(end.usage, later.usage);
  }
  return end;
}

function nobodyBound(agentId: string): OperationFailure {
  return new OperationFailure({
    kind: FailureKind.PROTOCOL_VIOLATION,
    stage: Stage.OPEN,
    agentId,
    retry: Retry.NEVER,
    reason: `the session has an agent "${agentId}", and the run binds nobody to it`,
  });
}
