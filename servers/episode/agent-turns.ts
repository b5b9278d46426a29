import { create } from "@bufbuild/protobuf";
import {
  type AgentEnd,
  type AgentSubmission,
  AgentSubmissionSchema,
  type AgentView,
  FailureKind,
  Feature,
  Retry,
  Stage,
} from "../../gen/index.js";
import { OperationFailure } from "../runtime/failure.js";
import { AgentSeat } from "./agent-seat.js";
import type { OpenAgent, OpenAgentOptions } from "./define-driver.js";
import type { EpisodeRun } from "./episode-run.js";

/** The agents' side of an episode. */
export class AgentTurns {
  readonly seats: AgentSeat[] = [];

  constructor(private readonly episode: EpisodeRun) {}

  /** Whether any agent declares REFERENCE, so that a reference is worth asking for. */
  get someoneTakesReference(): boolean {
    return [...this.episode.bound.described.agents.values()].some(({ agent }) =>
      agent.service?.features.includes(Feature.REFERENCE),
    );
  }

  /** How the agents' parts ended (EPI-OUT-004). */
  get ends(): AgentEnd[] {
    return this.seats.map(({ end }) => end);
  }

  /** What each agent hands in (EPI-RUN-016). */
  get submissions(): AgentSubmission[] {
    return this.seats.map(({ agentId, items, artifacts, end }) =>
      create(AgentSubmissionSchema, { agentId, items, artifacts, agentEnd: end }),
    );
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

function nobodyBound(agentId: string): OperationFailure {
  return new OperationFailure({
    kind: FailureKind.PROTOCOL_VIOLATION,
    stage: Stage.OPEN,
    agentId,
    retry: Retry.NEVER,
    reason: `the session has an agent "${agentId}", and the run binds nobody to it`,
  });
}
