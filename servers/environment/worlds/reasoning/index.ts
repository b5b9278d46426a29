import { randomBytes } from "node:crypto";
import { z } from "zod";
import {
  assistantMessage,
  BadTask,
  defineEnvironment,
  type TaskSource,
  ToolError,
  tool,
  userMessage,
} from "../../../index.js";
import { canary, canaryField, hidden } from "../hidden-data.js";
import { type NumberedTask, numberedSplit } from "../numbered-split.js";
import { ANSWER_INSTRUCTION } from "./answer-instruction.js";
import { CalculatorError, calculate } from "./calculator.js";
import { judge } from "./compare.js";
import { generateTask } from "./generate.js";
import { parseGsm8kRow, RowError } from "./gsm8k.js";

/** Options of the environment. */
export const reasoningOptions = z.strictObject({
  /** Offer the calculator. */
  calculator: z.boolean().default(true),
});

/** A generated task: the world's seed makes the numbers and words. */
const generated = z.strictObject({
  kind: z.enum(["arithmetic", "strings"]),
  index: z.int().min(0),
});

type Question =
  | { readonly from: "row"; readonly prompt: string; readonly expected: string; readonly workings: string }
  | { readonly from: "seed"; readonly task: z.output<typeof generated> };

function readQuestion(source: TaskSource): Question {
  if (source.row === undefined) return { from: "seed", task: source.publicJson(generated) };
  try {
    const { question, expected, workings } = parseGsm8kRow(source.row.data);
    return { from: "row", prompt: `${question}\n\n${ANSWER_INSTRUCTION}`, expected, workings };
  } catch (error) {
    if (!(error instanceof RowError)) throw error;
    const path = error.path === "" ? "row" : `row.${error.path}`;
    throw new BadTask(path, `expected ${error.expected}, found ${error.found}`);
  }
}

/** Tasks of both kinds in turn, from this index on: splits that begin apart have no task in common. */
const numbered =
  (from: number) =>
  (id: string, index: number): NumberedTask => ({
    publicJson: JSON.stringify({
      kind: index % 2 === 0 ? "arithmetic" : "strings",
      index: from + Math.floor(index / 2),
    }),
    privileged: hidden({ canary: canary("reasoning", id) }),
  });

/** A seed of 63 random bits. */
function newSeed(): bigint {
  return randomBytes(8).readBigUInt64LE() >> 1n;
}

const calculator = tool({
  description: "Computes an arithmetic expression exactly: + - * / and parentheses.",
  input: z.strictObject({ expression: z.string().describe("For example (16 - 3) * 2") }),
  run({ expression }) {
    try {
      return calculate(expression);
    } catch (error) {
      throw error instanceof CalculatorError ? new ToolError(error.message) : error;
    }
  },
});

/** Single questions with one right answer: GSM8K as published, and generated arithmetic and string tasks. */
export const reasoning = (options: z.output<typeof reasoningOptions>) =>
  defineEnvironment({
    name: "reasoning",
    version: "1.0.0",
    reward: { timing: "terminal", minimum: 0, maximum: 1 },
    determinism: "seeded",
    stateless: true,
    publicSchema: generated,
    privilegedSchema: z.strictObject({ canary: canaryField }),
    rowSchemas: ["gsm8k"],
    splits: {
      train: numberedSplit({ revision: "1", taskset: "reasoning", name: "train", make: numbered(1000) }),
      test: numberedSplit({
        revision: "1",
        taskset: "reasoning",
        name: "test",
        size: 100,
        make: numbered(0),
      }),
    },
    ...(options.calculator ? { tools: { calculator } } : {}),
    toolsRequired: false,

    read: readQuestion,

    seed({ data, seed }) {
      if (data.from === "row") return { state: data, input: data.prompt };
      const inUse = seed ?? newSeed();
      const { prompt, expected } = generateTask({ ...data.task, seed: inUse });
      return { state: { prompt, expected, workings: "" }, input: prompt, seed: inUse };
    },

    verify({ state, answer }) {
      const { correct, reason, read } = judge(state.expected, answer);
      return {
        reward: correct ? 1 : 0,
        success: correct,
        diagnostics: { reason, ...(read === undefined ? {} : { read }) },
      };
    },

    reference: (_data, { workings, expected }) => ({
      items: [assistantMessage(`${workings === "" ? "" : `${workings}\n`}#### ${expected}`)],
    }),

    samples() {
      const row = {
        question: "A box holds 6 eggs. How many eggs do 7 boxes hold?",
        answer: "7 boxes hold 7 * 6 = <<7*6=42>>42 eggs.\n#### 42",
      };
      const work = (text: string, value: number) => ({
        submission: {
          agents: [{ agentId: "agent", items: [userMessage(row.question), assistantMessage(text)] }],
        },
        expectedReward: { value },
      });
      return [
        {
          task: {
            taskId: { taskset: "gsm8k", id: "sample" },
            environment: "reasoning",
            row: {
              data: new TextEncoder().encode(JSON.stringify(row)),
              mediaType: "application/json",
              rowSchema: "gsm8k",
            },
          },
          good: work("Seven boxes of six.\n#### 42", 1),
          bad: work("Seven and six.\n#### 13", 0),
        },
      ];
    },
  });
