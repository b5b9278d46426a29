import { seedOf } from "../seed-of.js";
import { mix64 } from "../splitmix64.js";
import { type Direction, directions, type Lake, pathToGoal } from "./lake.js";

/**
 * How the ice turns each move: by -1, 0 or 1 in the order of the directions, a third each. A turn follows from the key
 * and the number of the move alone, so that a copy of a session slips as its source would (ENV-SEED-006, ENV-FORK-001).
 */
export type Slips = (move: number) => number;

/** Ice that never turns a move. */
export const noSlips: Slips = () => 0;

/** The slips of a lake under a seed. */
export function slipsOf({ rows }: Lake, seed: bigint): Slips {
  const key = seedOf(`${seed}/${rows.join("/")}`);
  return (move) => Number(mix64(key + BigInt(move)) % 3n) - 1;
}

/** A direction, turned. */
export function turned(direction: Direction, by: number): Direction {
  const { length } = directions;
  return directions[(directions.indexOf(direction) + by + length) % length] ?? direction;
}

/** The moves that lead to the goal on a shortest way, each chosen such that its slip turns it into the right one. */
export function solution(lake: Lake, slips: Slips): readonly Direction[] {
  return (pathToGoal(lake) ?? []).map((direction, move) => turned(direction, -slips(move)));
}
