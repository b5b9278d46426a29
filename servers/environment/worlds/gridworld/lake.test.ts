import { describe, expect, it } from "vitest";
import { splitmix64 } from "../splitmix64.js";
import { lakeOf, lakeProblem, neighbour, pathToGoal, randomLake } from "./lake.js";
import { slipsOf, solution, turned } from "./slips.js";

describe("a lake", () => {
  it("is refused with what is wrong with its rows", () => {
    expect(lakeProblem(["SF", "FG"])).toBeUndefined();
    expect(lakeProblem([])).toMatch(/one S, found 0/);
    expect(lakeProblem(["SFF", "FG"])).toMatch(/one length/);
    expect(lakeProblem(["SX", "FG"])).toMatch(/made of/);
    expect(lakeProblem(["SS", "FG"])).toMatch(/one S, found 2/);
    expect(lakeProblem(["SH", "HG"])).toMatch(/a way/);
  });

  it("has edges that keep the agent on it", () => {
    const lake = lakeOf(["SFF", "FFG"]);
    expect([0, 2, 5].map((cell) => neighbour(lake, cell, "left"))).toEqual([0, 1, 4]);
    expect([0, 2, 5].map((cell) => neighbour(lake, cell, "right"))).toEqual([1, 2, 5]);
    expect([0, 2, 5].map((cell) => neighbour(lake, cell, "up"))).toEqual([0, 2, 2]);
    expect([0, 2, 5].map((cell) => neighbour(lake, cell, "down"))).toEqual([3, 5, 5]);
  });

  it("has a shortest way around its holes", () => {
    expect(pathToGoal(lakeOf(["SH", "FF", "HG"]))).toEqual(["down", "right", "down"]);
  });

  it("is made with a way to its goal, the same from the same source", () => {
    for (let seed = 0n; seed < 20n; seed += 1n) {
      const rows = randomLake(6, splitmix64(seed));
      expect(lakeProblem(rows)).toBeUndefined();
      expect(randomLake(6, splitmix64(seed))).toEqual(rows);
    }
  });
});

describe("slips", () => {
  const lake = lakeOf(randomLake(8, splitmix64(1n)));

  it("turn a third of the moves each way, as the seed has it", () => {
    const slips = slipsOf(lake, 1n);
    const count = [0, 0, 0];
    for (let move = 0; move < 3000; move += 1) count[slips(move) + 1] = (count[slips(move) + 1] ?? 0) + 1;
    for (const each of count) expect(each).toBeGreaterThan(900);
    const first = (seed: bigint): number[] =>
      Array.from({ length: 40 }, (_, move) => slipsOf(lake, seed)(move));
    expect(first(1n)).toEqual(first(1n));
    expect(first(1n)).not.toEqual(first(2n));
  });

  it("are met by a solution that knows them", () => {
    const slips = slipsOf(lake, 3n);
    expect(solution(lake, slips).map((direction, move) => turned(direction, slips(move)))).toEqual(
      pathToGoal(lake),
    );
  });
});
