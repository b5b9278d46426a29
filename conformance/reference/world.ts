import { z } from "zod";
import {
  assistantMessage,
  defineEnvironment,
  type EnvironmentDefinition,
  type Measured,
  ToolError,
  tool,
  type Work,
} from "../../servers/index.js";
import { type Disturbance, makeTrouble, type TroubleMemory, troubleSchema } from "./trouble.js";

const publicSchema = z.strictObject({
  target: z.int().min(1).default(5),
  trouble: troubleSchema.optional(),
  release: z.enum(["fails-once"]).optional(),
  stages: z.int().min(1).max(9).default(1),
});

const privilegedSchema = z.strictObject({ answer: z.string().min(1) });

interface Data extends z.output<typeof publicSchema>, z.output<typeof privilegedSchema> {}

interface State extends TroubleMemory {
  readonly target: number;
  count: number;
  /** Releases that fail before one that does not. */
  unreleased: number;
}

const rightAnswer = 10;
const seen = (state: State): string => `count=${state.count}`;
const trouble = z.looseObject({ do: z.string() });

/** The answer of a submission, what it makes happen, or why it cannot be read. */
function readAnswer(work: Work<Data, State>): { text: string; unappliable?: string } {
  if (work.answer !== "") return { text: work.answer };
  const artifact = work.artifacts.get("answer");
  if (artifact?.body.case !== "inline") return { text: "" };
  try {
    return { text: new TextDecoder("utf-8", { fatal: true }).decode(artifact.body.value) };
  } catch {
    return { text: "", unappliable: "artifact answer is no UTF-8 text" };
  }
}

/** The trouble that an answer asks for. */
function askedTrouble(text: string): z.output<typeof troubleSchema> | undefined {
  if (!text.startsWith("{")) return undefined;
  try {
    const { trouble: asked } = z.strictObject({ trouble: troubleSchema }).parse(JSON.parse(text));
    return asked;
  } catch {
    return undefined;
  }
}

async function measure(work: Work<Data, State>, steps: boolean): Promise<Measured> {
  const { data, state, signal } = work;
  const { text, unappliable } = readAnswer(work);
  const asked = askedTrouble(text);
  const disturbance: Disturbance =
    asked === undefined ? {} : await makeTrouble(asked, { memory: state, signal });
  const right = text === data.answer;
  const answer = right ? rightAnswer : 0;
  return {
    reward: disturbance.reward ?? answer + (steps ? state.count : 0),
    components: { answer },
    success: right,
    ...(disturbance.masked === true ? { masked: { reason: "asked" } } : {}),
    diagnostics: { unappliable: unappliable ?? "", text: disturbance.text ?? "" },
  };
}

/** Which features the reference world has. */
export interface ReferenceOptions {
  /** STEP, TOOLS and what goes with them. Without: the core alone. */
  readonly steps: boolean;
}

/** The world of docs/reference-world.md. */
export function referenceWorld({ steps }: ReferenceOptions): EnvironmentDefinition<Data, State> {
  return defineEnvironment<Data, State>({
    name: "touchstone-reference",
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
    read: (source) => ({
      ...(source.task.publicJson === "" ? publicSchema.parse({}) : source.publicJson(publicSchema)),
      ...source.privilegedJson(privilegedSchema),
    }),
    async seed({ data, seed, signal }) {
      const state: State = {
        target: data.target,
        count: seed !== undefined && seed % 10n === 9n ? 1 : 0,
        limited: false,
        unreleased: data.release === "fails-once" ? 1 : 0,
      };
      if (data.trouble !== undefined) await makeTrouble(data.trouble, { memory: state, signal });
      return { state };
    },
    ...(steps
      ? {
          strictArguments: true,
          tools: {
            add: tool<z.ZodObject<{ n: z.ZodInt }>, State>({
              description: "Adds n to the count.",
              input: z.strictObject({ n: z.int().min(0).max(9) }),
              run: ({ n }, { state }) => {
                state.count += n;
                return { content: seen(state), reward: n, terminated: state.count >= state.target };
              },
            }),
            echo: tool<z.ZodObject<{ text: z.ZodString }>, State>({
              description: "Says the text again.",
              input: z.strictObject({ text: z.string() }),
              run: ({ text }) => ({ content: text, reward: 0 }),
            }),
            refuse: tool<z.ZodObject, State>({
              description: "Fails.",
              input: z.strictObject({}),
              run: () => {
                throw new ToolError("refused");
              },
            }),
            trouble: tool<typeof trouble, State>({
              description: "Does what it is asked to.",
              input: trouble,
              run: async (args, { state, signal }) => {
                const asked = troubleSchema.safeParse(args);
                if (!asked.success) throw new ToolError("no such trouble");
                const { reward = 0, text } = await makeTrouble(asked.data, { memory: state, signal });
                return { content: text ?? seen(state), reward };
              },
            }),
          },
          fork: (state: State) => ({ ...state }),
        }
      : {}),
    verify: (work) => measure(work, steps),
    stateless: true,
    reference: ({ answer }) => ({ items: [assistantMessage(answer)] }),
    close(state) {
      if (state.unreleased === 0) return;
      state.unreleased -= 1;
      throw new Error("it was asked not to be released at once");
    },
  });
}
