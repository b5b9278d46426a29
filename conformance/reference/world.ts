import type { AgentStarts } from "../../servers/index.js";
import {
  assistantMessage,
  defineEnvironment,
  type EnvironmentDefinition,
  userMessage,
} from "../../servers/index.js";
import { measure } from "./measure.js";
import { copyState, playerIds, type ReferenceAgents, type State, seen } from "./state.js";
import { privilegedSchema, publicSchema, type ReferenceTask, readTask, rowSchemaName } from "./task.js";
import { referenceSample, trainSplit, worldName } from "./tasks.js";
import { referenceTools, toolsOfStage } from "./tools.js";
import { makeTrouble } from "./trouble.js";

/** Which features the reference world has. */
export interface ReferenceOptions {
  /** STEP, TOOLS and what goes with them, task listing, stages, forks. Without: the core alone. */
  readonly steps: boolean;
  /** Default: one. Several have no stages, forks or splits. */
  readonly agents?: ReferenceAgents;
  /** Feature STRICT_ARGUMENTS. Default: it has it. */
  readonly strictArguments?: boolean;
}

/** The reference world as an environment is defined. */
export type ReferenceWorld = EnvironmentDefinition<ReferenceTask, State>;

const words: Readonly<Record<string, string>> = { a: "alpha-17", b: "beta-23" };

/** What agents get at the beginning of a stage; the first stage's is Seed's. */
function startsOf(
  { state, steps }: { readonly state: State; readonly steps: boolean },
  { stageIndex, tools, input }: { stageIndex: number; tools?: readonly string[]; input?: string | undefined },
): AgentStarts {
  const observation = { items: [userMessage(seen(state))] };
  const shown = steps ? { observation, tools: tools ?? toolsOfStage(stageIndex) } : {};
  return { ...(input === undefined ? {} : { input }), ...shown };
}

/** What several players get: each its own word, and `b` a tool that `a` has not. */
function playersStarts(state: State, together: boolean): AgentStarts {
  const observation = { items: [userMessage(seen(state))] };
  const own = toolsOfStage(0);
  const agents = Object.fromEntries(
    playerIds.map((id) => [
      id,
      {
        input: `You are ${id}. Your word is ${words[id]}.`,
        observation,
        tools: [...own, "leave", ...(id === "b" ? ["peek"] : [])],
      },
    ]),
  );
  return { agents, next: together ? [...playerIds] : ["a"] };
}

/** The world of docs/reference-world.md. */
export function referenceWorld({
  steps,
  agents = "one",
  strictArguments = true,
}: ReferenceOptions): ReferenceWorld {
  const alone = agents === "one";
  return defineEnvironment<ReferenceTask, State>({
    name: worldName,
    version: "1.0.0",
    reward: {
      ...(steps ? { timing: "hybrid", stepReward: "delta" } : { timing: "terminal" }),
      minimum: 0,
      maximum: 100,
      components: ["answer"],
    },
    determinism: "seeded",
    publicSchema,
    privilegedSchema,
    rowSchemas: [rowSchemaName],
    read: readTask,
    async seed({ data, seed, signal }) {
      const together = agents === "together" && data.together;
      const state: State = {
        agents,
        passing: !alone && !together,
        target: data.target,
        count: data.start + (seed !== undefined && seed % 10n === 9n ? 1 : 0),
        earned: new Map(),
        gone: new Set(),
        limited: false,
        unreleased: data.release === "fails-once" ? 1 : 0,
      };
      const { text } =
        data.trouble === undefined ? {} : await makeTrouble(data.trouble, { memory: state, signal });
      const stages =
        steps && alone && data.stages > 1
          ? { stages: Array.from({ length: data.stages }, (_, index) => `stage-${index}`) }
          : {};
      if (!alone) return { state, ...playersStarts(state, together) };
      const input = text ?? (data.told ? undefined : "Count.");
      const { tools } = data;
      return {
        state,
        ...stages,
        ...startsOf({ state, steps }, { stageIndex: 0, input, ...(tools === undefined ? {} : { tools }) }),
      };
    },
    ...(alone ? {} : { agents: [...playerIds], simultaneousTurns: agents === "together" }),
    ...(steps ? { strictArguments, tools: referenceTools(agents) } : {}),
    ...(steps && alone
      ? {
          splits: { train: trainSplit },
          fork: copyState,
          advance: ({ state, stageIndex }) => ({
            ...startsOf({ state, steps }, { stageIndex, input: `Stage ${stageIndex}.` }),
            budget: { maxTurns: stageIndex + 1 },
          }),
        }
      : {}),
    verify: (work) => measure(work, steps),
    stateless: true,
    reference: ({ answer }) => ({ items: [assistantMessage(answer)] }),
    ...(alone ? { samples: () => [referenceSample(steps)] } : {}),
    close(state) {
      if (state.unreleased === 0) return;
      state.unreleased -= 1;
      throw new Error("it was asked not to be released at once");
    },
  });
}
