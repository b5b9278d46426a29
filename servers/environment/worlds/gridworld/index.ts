import { randomBytes } from "node:crypto";
import { z } from "zod";
import { defineEnvironment, lastAnswer, toolCallItem } from "../../../index.js";
import { canary, canaryField, hidden } from "../hidden-data.js";
import { type NumberedTask, numberedSplit } from "../numbered-split.js";
import { sampleSteps } from "../sample-steps.js";
import { seedOf } from "../seed-of.js";
import { splitmix64 } from "../splitmix64.js";
import {
  type Direction,
  directions,
  type Lake,
  lakeOf,
  lakeProblem,
  letterAt,
  neighbour,
  randomLake,
} from "./lake.js";
import { noSlips, type Slips, slipsOf, solution, turned } from "./slips.js";
import { actionSpace, directionOf, observationSpace, tensorsOf } from "./tensors.js";

/** Options of the environment. */
export const gridworldOptions = z.strictObject({
  /** How an agent sees the lake first: as text of its input, or as tensors of its first observation too. */
  observe: z.enum(["text", "tensors"]).default("text"),
});

/** A task, as everybody may see it. */
const visible = z.strictObject({
  map: z
    .array(z.string())
    .min(1)
    .describe("Rows of S (start), F (frozen), H (hole) and G (goal).")
    .superRefine((rows, context) => {
      const message = lakeProblem(rows);
      if (message !== undefined) context.addIssue({ code: "custom", message });
    }),
  slippery: z
    .boolean()
    .default(true)
    .describe("The ice turns two moves of three to the left or to the right."),
});

const secrets = z.strictObject({ canary: canaryField });

/** An agent on its lake. */
interface Walk {
  readonly lake: Lake;
  readonly slips: Slips;
  cell: number;
  moves: number;
}

/** What a move came to. */
interface Moved {
  readonly reward: number;
  readonly terminated: boolean;
  readonly text: string;
}

/** Moves the agent, as the ice will have it. */
function move(walk: Walk, wanted: Direction): Moved {
  const went = turned(wanted, walk.slips(walk.moves));
  walk.cell = neighbour(walk.lake, walk.cell, went);
  walk.moves += 1;
  const letter = letterAt(walk.lake, walk.cell);
  const slipped = went === wanted ? "" : `You slipped ${went}. `;
  const ending = letter === "G" ? "You are at the goal." : letter === "H" ? "You fell into a hole." : "";
  return {
    reward: letter === "G" ? 1 : 0,
    terminated: ending !== "",
    text: `${slipped}${ending}\n${picture(walk)}`.trimStart(),
  };
}

/** The lake with the agent as @. */
function picture({ lake: { rows, width }, cell }: Walk): string {
  const letters = [...rows.join("")];
  letters[cell] = "@";
  return rows.map((_, row) => letters.slice(row * width, (row + 1) * width).join("")).join("\n");
}

/** The only direction that a text names; undefined: none, or several. */
function directionIn(text: string): Direction | undefined {
  const named = directions.filter((direction) => new RegExp(`\\b${direction}\\b`, "i").test(text));
  return named.length === 1 ? named[0] : undefined;
}

const rules = (
  slippery: boolean,
): string => `You (@) are on a frozen lake. Get to the goal (G); do not fall into a hole (H).
Move left, down, right or up, one step at a time.${slippery ? " The ice is slippery: you may slide to the side instead." : ""}`;

/** A task of a number: lakes of 4, 6 and 8 rows in turn, every fourth of them without slips. */
function generated(id: string, index: number): NumberedTask {
  const size = 4 + 2 * (index % 3);
  const random = splitmix64(seedOf(`gridworld/${id}`));
  return {
    publicJson: JSON.stringify({ map: randomLake(size, random), slippery: index % 4 !== 3 }),
    privileged: hidden({ canary: canary("gridworld", id) }),
    limits: { maxSteps: 4 * size * size },
  };
}

const revision = "1";

/** FrozenLake: text and tensor actions, seeded slips, reward 1 at the goal; holes terminate, `max_steps` truncates. */
export const gridworld = ({ observe }: z.output<typeof gridworldOptions>) =>
  defineEnvironment({
    name: "gridworld",
    version: "1.0.0",
    reward: { timing: "step", stepReward: "delta", minimum: 0, maximum: 1 },
    determinism: "seeded",
    stateless: true,
    strictArguments: true,
    publicSchema: visible,
    privilegedSchema: secrets,
    stepKinds: ["items", "content"],
    actionSpace,
    observationSpace,
    splits: {
      train: numberedSplit({ revision, taskset: "gridworld", name: "train", make: generated }),
      test: numberedSplit({ revision, taskset: "gridworld", name: "test", size: 60, make: generated }),
    },

    read: (task) => task.publicJson(visible),

    seed({ data, seed }) {
      const lake = lakeOf(data.map);
      const inUse = seed ?? randomBytes(8).readBigUInt64LE() >> 1n;
      const slips = data.slippery ? slipsOf(lake, inUse) : noSlips;
      const walk: Walk = { lake, slips, cell: lake.start, moves: 0 };
      return {
        state: walk,
        seed: inUse,
        input: `${rules(data.slippery)}\n${picture(walk)}`,
        ...(observe === "tensors" ? { observation: { content: tensorsOf(lake, walk.cell) } } : {}),
      };
    },

    tools: {
      move: {
        description: "Moves one step.",
        input: z.strictObject({ direction: z.enum(directions) }),
        run({ direction }, { state }) {
          const { text, ...moved } = move(state, direction);
          return { content: text, ...moved };
        },
      },
    },

    step({ state, actions: [action] }) {
      if (action?.kind.case === "content") {
        const direction = directionOf(action);
        const { text: _text, ...moved } = direction === undefined ? stood : move(state, direction);
        return { observation: { content: tensorsOf(state.lake, state.cell) }, ...moved };
      }
      const said = action?.kind.case === "items" ? lastAnswer(action.kind.value.items) : "";
      const direction = directionIn(said);
      const { text, ...moved } = direction === undefined ? stood : move(state, direction);
      return { observation: text, ...moved };
    },

    verify: ({ state, stepRewards }) => {
      const letter = letterAt(state.lake, state.cell);
      const end = letter === "G" ? "goal" : letter === "H" ? "hole" : "ice";
      return {
        reward: stepRewards,
        success: end === "goal",
        metrics: { moves: state.moves },
        diagnostics: { end },
      };
    },

    fork: (walk) => ({ ...walk }),

    reference: (_data, { lake, slips }) => ({
      items: solution(lake, slips).map((direction, i) =>
        toolCallItem({ callId: `move-${i}`, name: "move", argumentsJson: JSON.stringify({ direction }) }),
      ),
    }),

    samples() {
      const task = {
        taskId: { taskset: "gridworld", id: "sample" },
        environment: "gridworld",
        publicJson: JSON.stringify({ map: ["SF", "HG"], slippery: false }),
        privileged: hidden({ canary: canary("gridworld", "sample") }),
      };
      const walked = (way: readonly Direction[], rewards: readonly number[]) => ({
        steps: sampleSteps(
          way.map((direction, i) => ({ name: "move", args: { direction }, reward: rewards[i] ?? 0 })),
        ),
        expectedReward: { value: rewards.reduce((sum, reward) => sum + reward, 0) },
      });
      return [{ task, good: walked(["right", "down"], [0, 1]), bad: walked(["down"], [0]) }];
    },
  });

/** What a move comes to that names no direction: nothing moves, the ice included. */
const stood: Moved = { reward: 0, terminated: false, text: "Say one of left, down, right and up." };
