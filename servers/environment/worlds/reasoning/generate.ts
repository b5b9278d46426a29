import { mix64, splitmix64 } from "../splitmix64.js";
import { ANSWER_INSTRUCTION } from "./answer-instruction.js";
import { arithmeticTask } from "./arithmetic-task.js";
import { stringTask } from "./string-task.js";

/** What a generated task is about. */
export type TaskKind = "arithmetic" | "strings";

/** Which task to generate. */
export interface GenerateOptions {
  readonly kind: TaskKind;
  /** Number of the task in its set: 0 or a positive safe integer. */
  readonly index: number;
  /** Seed of the set; taken modulo 2^64, so that every 64-bit integer, signed or not, is a seed of its own. */
  readonly seed: bigint;
}

/** A generated task. */
export interface GeneratedTask {
  readonly kind: TaskKind;
  /** What the agent is told, how to end its answer included. */
  readonly prompt: string;
  /** The right answer, for `judge`. */
  readonly expected: string;
  /** 1 (easiest) to 5. It follows from the index, so that every task set has all of them. */
  readonly difficulty: number;
}

/** Difficulties are 1 to this. */
export const MAX_DIFFICULTY = 5;

/** Keeps the streams of the kinds apart. */
const STREAM: Readonly<Record<TaskKind, bigint>> = { arithmetic: 1n, strings: 2n };

/**
 * Generates a task. The same options give the same task on every machine and in every release of this
 * revision (ENV-SEED-006); another seed gives another set of tasks (ENV-SEED-007).
 *
 * @throws RangeError when the index is negative or no safe integer.
 */
export function generateTask(options: GenerateOptions): GeneratedTask {
  const { kind, index, seed } = options;
  if (!Number.isSafeInteger(index) || index < 0) {
    throw new RangeError(`index: expected 0 or a positive safe integer, found ${index}`);
  }
  // Each input is mixed on its own: adding them up would make (seed, index + 1) and (seed + 1, index) collide.
  const random = splitmix64(mix64(mix64(mix64(seed) + BigInt(index)) + STREAM[kind]));
  const difficulty = 1 + (index % MAX_DIFFICULTY);
  const riddle = kind === "arithmetic" ? arithmeticTask(random, difficulty) : stringTask(random, difficulty);
  return {
    kind,
    prompt: `${riddle.question}\n\n${ANSWER_INSTRUCTION}`,
    expected: riddle.expected,
    difficulty,
  };
}
