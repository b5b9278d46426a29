import { z } from "zod";
import {
  defineEnvironment,
  type EnvironmentDefinition,
  type ToolAnswer,
  type ToolContext,
  toolCallItem,
  toolsOf,
} from "../../../index.js";
import { canary, canaryField, hidden } from "../hidden-data.js";
import { type NumberedTask, numberedSplit } from "../numbered-split.js";
import { sampleSteps } from "../sample-steps.js";
import { seedOf } from "../seed-of.js";
import { type RoomName, randomRooms, roomNames } from "./rooms.js";

/** Options of the environment. */
export const escapeRoomOptions = z.strictObject({
  /** Wrong tries at one door, with which its room is lost. */
  tries: z.int().min(1).default(3),
});

const room = z.strictObject({ scene: z.string().min(1), answer: z.string().min(1) });
const secrets = z.strictObject({
  rooms: z.strictObject({ cell: room, library: room, vault: room }),
  canary: canaryField,
});
type Secrets = z.output<typeof secrets>;

/** Somebody in the rooms. */
interface Visit {
  readonly rooms: Secrets["rooms"];
  readonly tries: number;
  /** The room that it is in. */
  here: RoomName;
  /** Wrong tries at the door of this room. */
  wrong: number;
  /** Rooms that were left. */
  left: number;
}

/** Tries to open the door of the room. */
function open(given: string, { state }: ToolContext<Visit>): ToolAnswer {
  const { rooms, here, tries } = state;
  if (given.toLowerCase() === rooms[here].answer.toLowerCase()) {
    state.left += 1;
    return { content: "The door opens.", terminated: true };
  }
  state.wrong += 1;
  if (state.wrong < tries) return { content: "Nothing happens." };
  return { content: "The door locks for good.", terminated: true };
}

const tool = toolsOf<Visit>();

const word = z.string().min(1).max(100);

const tools = {
  look: tool({
    description: "Looks around the room.",
    input: z.strictObject({}),
    run: (_args, { state }) => state.rooms[state.here].scene,
  }),
  turn_key: tool({
    description: "Turns a key of a colour in the door.",
    input: z.strictObject({ colour: word }),
    run: ({ colour }, context) => open(colour, context),
  }),
  pull_book: tool({
    description: "Pulls a book from the shelf.",
    input: z.strictObject({ title: word }),
    run: ({ title }, context) => open(title, context),
  }),
  dial: tool({
    description: "Dials a number.",
    input: z.strictObject({ number: z.int().min(0) }),
    run: ({ number }, context) => open(String(number), context),
  }),
};

/** What an agent has in each room, and what the door's tool is given. */
const doors: Readonly<Record<RoomName, { readonly tool: string; argument(answer: string): object }>> = {
  cell: { tool: "turn_key", argument: (colour) => ({ colour }) },
  library: { tool: "pull_book", argument: (title) => ({ title }) },
  vault: { tool: "dial", argument: (number) => ({ number: Number(number) }) },
};

const entered = (here: RoomName) => ({
  input: `You are locked into a ${here}. Find out how its door opens, and open it.`,
  tools: ["look", doors[here].tool],
});

/** A task of a number. */
function generated(id: string): NumberedTask {
  const rooms = randomRooms(seedOf(`escape-room/${id}`));
  return { privileged: hidden({ rooms, canary: canary("escape-room", id) }) };
}

const revision = "1";

/** Three rooms, each a stage with tools of its own: a room's verdict is due before the next one begins (STAGES). */
export const escapeRoom = ({
  tries,
}: z.output<typeof escapeRoomOptions>): EnvironmentDefinition<Secrets, Visit> =>
  defineEnvironment({
    name: "escape-room",
    version: "1.0.0",
    reward: { timing: "terminal", minimum: 0, maximum: 1 },
    determinism: "seeded",
    strictArguments: true,
    privilegedSchema: secrets,
    splits: {
      train: numberedSplit({ revision, taskset: "escape-room", name: "train", make: generated }),
      test: numberedSplit({ revision, taskset: "escape-room", name: "test", size: 30, make: generated }),
    },

    read: (task) => task.privilegedJson(secrets),

    seed({ data: { rooms } }) {
      const [here] = roomNames;
      const visit: Visit = { rooms, tries, here, wrong: 0, left: 0 };
      return { state: visit, stages: roomNames, ...entered(here) };
    },

    tools,

    advance({ state, stageIndex }) {
      state.here = roomNames[stageIndex] ?? state.here;
      state.wrong = 0;
      return { ...entered(state.here), budget: { maxToolCalls: 20 } };
    },

    verify({ state: { left, here }, stageIndex }) {
      const opened = left > stageIndex;
      return {
        reward: left / roomNames.length,
        success: left === roomNames.length,
        stageReward: opened ? 1 : 0,
        // Who does not get out of a room sees no other one.
        ...(opened ? {} : { episodeOver: true }),
        diagnostics: { room: here, opened },
      };
    },

    fork: (visit) => ({ ...visit }),

    reference: ({ rooms }) => ({
      items: roomNames.map((name) =>
        toolCallItem({
          callId: `door-${name}`,
          name: doors[name].tool,
          argumentsJson: JSON.stringify(doors[name].argument(rooms[name].answer)),
        }),
      ),
    }),

    samples() {
      const rooms = {
        cell: { scene: "One key hangs here: the red one.", answer: "red" },
        library: { scene: "One book stands here: Maps.", answer: "Maps" },
        vault: { scene: "Somebody has chalked 7 on the door.", answer: "7" },
      };
      return [
        {
          task: {
            taskId: { taskset: "escape-room", id: "sample" },
            environment: "escape-room",
            privileged: hidden({ rooms, canary: canary("escape-room", "sample") }),
          },
          // A sample is verified at its first stage: one room of three.
          good: {
            steps: sampleSteps([
              { name: "look", args: {} },
              { name: "turn_key", args: { colour: "red" } },
            ]),
            expectedReward: { value: 1 / 3 },
          },
          bad: {
            steps: sampleSteps([{ name: "turn_key", args: { colour: "blue" } }]),
            expectedReward: { value: 0 },
          },
        },
      ];
    },
  });
