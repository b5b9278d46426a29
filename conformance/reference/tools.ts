import { z } from "zod";
import {
  type StepEffects,
  type ToolDefinition,
  ToolError,
  type ToolInput,
  toolsOf,
} from "../../servers/index.js";
import { playerIds, type ReferenceAgents, type State, seen } from "./state.js";
import { makeTrouble, troubleSchema } from "./trouble.js";

const tool = toolsOf<State>();
const nothing = z.strictObject({});
const trouble = z.looseObject({ do: z.string() });

/** Where players take turns, a move passes the turn to the other one. */
function passTurn({ passing, gone }: State, agentId: string): StepEffects {
  if (!passing) return {};
  const others = playerIds.filter((id) => id !== agentId && !gone.has(id));
  return others.length === 0 ? {} : { next: others };
}

/** How an end of the session is told: of the only agent's part, or of all parts. */
function ended({ agents }: State, how: "terminated" | "truncated"): object {
  if (agents === "one") return { [how]: true };
  return { [how === "terminated" ? "episodeTerminated" : "episodeTruncated"]: true };
}

const adding = (factor: number) =>
  tool({
    description: "Adds to the count.",
    input: z.strictObject({ n: z.int().min(0).max(9) }),
    run({ n }, { state, agentId }) {
      const added = factor * n;
      state.count += added;
      return {
        content: seen(state),
        reward: added,
        ...(added === 0 ? {} : passTurn(state, agentId)),
        ...(state.count >= state.target ? ended(state, "terminated") : {}),
      };
    },
  });

const common = {
  add: adding(1),
  twice: adding(2),
  echo: tool({
    description: "Says the text again.",
    input: z.strictObject({ text: z.string() }),
    run: ({ text }) => ({ content: text, reward: 0 }),
  }),
  refuse: tool({
    description: "Fails.",
    input: nothing,
    run: (): string => {
      throw new ToolError("refused");
    },
  }),
  cut: tool({
    description: "Cuts the session short.",
    input: nothing,
    run: (_args, { state }) => ({ content: seen(state), reward: 0, ...ended(state, "truncated") }),
  }),
  trouble: tool({
    description: "Does what it is asked to.",
    input: trouble,
    run: async (args, { state, signal }) => {
      const asked = troubleSchema.safeParse(args);
      if (!asked.success) throw new ToolError("no such trouble");
      const { reward = 0, text } = await makeTrouble(asked.data, { memory: state, signal });
      return { content: text ?? seen(state), reward };
    },
  }),
};

const ofPlayers = {
  leave: tool({
    description: "Ends the part of its caller.",
    input: nothing,
    run(_args, { state, agentId }) {
      state.gone.add(agentId);
      const left = playerIds.filter((id) => !state.gone.has(id));
      return { content: "left", reward: 0, terminated: true, ...(left.length === 0 ? {} : { next: left }) };
    },
  }),
  peek: tool({
    description: "Tells the word of its caller.",
    input: nothing,
    agents: ["b"],
    run: () => ({ content: "beta-23", reward: 0 }),
  }),
};

/** Names of the tools that a task leaves to the second stage, and of the one that the first alone has. */
const laterTool = "twice";
const firstTool = "echo";

/** The tools of a world with these agents. */
export function referenceTools(agents: ReferenceAgents): Record<string, ToolDefinition<ToolInput, State>> {
  const all = agents === "one" ? common : { ...common, ...ofPlayers };
  return all as unknown as Record<string, ToolDefinition<ToolInput, State>>;
}

/** Names of the tools of a stage, where the task does not name its own. */
export function toolsOfStage(stageIndex: number): string[] {
  const names = Object.keys(common);
  return names.filter((name) => name !== (stageIndex === 0 ? laterTool : firstTool));
}
