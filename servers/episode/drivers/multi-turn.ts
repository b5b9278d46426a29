import { z } from "zod";
import {
  type AgentOutcome,
  type AgentView,
  FailureKind,
  Feature,
  type Item,
  Retry,
  type SessionDescriptor,
  Stage,
} from "../../../gen/index.js";
import { OperationFailure } from "../../runtime/failure.js";
import { defineDriver, type OpenAgent, type StepAction, type TurnEnded } from "../define-driver.js";
import { firstInput, shown } from "../first-input.js";
import { checkOnePiece } from "../session-shape.js";
import { together } from "../together.js";

const options = z.strictObject({
  world_agents: z
    .array(z.string())
    .default([])
    .describe("Agents that play a part of the world, such as a simulated user: their failure is no score."),
  max_rounds: z
    .int()
    .min(1)
    .describe("Rounds of turns at most; then what is there is verified. Absent: the environment says.")
    .optional(),
});

/**
 * Agents in turns: those whom the environment names are given their turns, at the same time where it names several, and
 * it is stepped with what they said, until it names nobody (EPI-DRV-001). Each has its own session and hears what the
 * environment shows it (EPI-DRV-004); all are closed, the last opened first, before the verification (EPI-DRV-011).
 */
export const multiTurn = defineDriver<z.output<typeof options>>({
  name: "multi_turn",
  needs: [Feature.STEP],
  options,
  async run(episode, { world_agents: world, max_rounds: maxRounds = Number.POSITIVE_INFINITY }) {
    const session = await episode.seed();
    const players = new Map<string, Player>();
    checkOnePiece(session);
    checkNames(world, session);
    for (const view of session.agents) {
      const partOfWorld = world.includes(view.agentId);
      players.set(view.agentId, new Player(await episode.openAgent(view, { partOfWorld }), view));
    }
    let next: readonly string[] = session.nextAgents;
    for (let round = 0; next.length > 0 && round < maxRounds; round += 1) {
      const named = next.map((agentId) => players.get(agentId) ?? unknownAgent(agentId));
      const turns = await together(named.map((player) => (signal) => player.turn(signal)));
      const over = turns.some(({ goesOn }) => !goesOn);
      const whole = turns.filter(({ goesOn }) => goesOn);
      // A turn that was cut is no move; what the others said still counts, unless all had to move at once.
      if (whole.length === 0 || (over && session.declarations?.simultaneousTurns === true)) break;
      const taken = await episode.step(whole.map(said));
      for (const outcome of taken.outcomes) players.get(outcome.agentId)?.sees(outcome);
      if (over) break;
      next = taken.nextAgents;
    }
    for (const player of [...players.values()].reverse()) await player.agent.close();
    return await episode.verify();
  },
});

/** One agent, and what it has been shown since its last turn. */
class Player {
  #shown: Item[];

  constructor(
    readonly agent: OpenAgent,
    view: AgentView,
  ) {
    this.#shown = firstInput(view);
  }

  async turn(signal: AbortSignal): Promise<TurnEnded> {
    const input = this.#shown;
    this.#shown = [];
    return await this.agent.activate(input, { signal });
  }

  sees({ observation }: AgentOutcome): void {
    this.#shown.push(...shown(observation));
  }
}

/** What was said in a turn, as an action; what was thought, and what tools did, is no part of it. */
function said({ agentId, output }: TurnEnded): StepAction {
  const items = output.filter(({ kind }) => kind.case === "chatMessage");
  return { agentId, kind: { case: "items", value: { items } } };
}

/** A part of the world under another name would be scored in silence. */
function checkNames(world: readonly string[], { agents }: SessionDescriptor): void {
  const names = agents.map(({ agentId }) => agentId);
  const unknown = world.find((agentId) => !names.includes(agentId));
  if (unknown === undefined) return;
  throw wrong(
    Stage.SEED,
    `world_agents: expected agents of the session (${names.join(", ")}), found "${unknown}"`,
  );
}

function unknownAgent(agentId: string): never {
  throw wrong(Stage.STEP, `the environment names "${agentId}" next, which is none of its session's agents`);
}

function wrong(stage: Stage, reason: string): OperationFailure {
  return new OperationFailure({ kind: FailureKind.PROTOCOL_VIOLATION, stage, retry: Retry.NEVER, reason });
}
