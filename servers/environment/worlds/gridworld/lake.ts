import type { RandomSource } from "../splitmix64.js";

/** Directions, at the places that are their numbers in tensor actions. */
export const directions = ["left", "down", "right", "up"] as const;
export type Direction = (typeof directions)[number];

/** A frozen lake: rows of S (start), F (frozen), H (hole) and G (goal), all of one length. Cells are numbered row by row. */
export interface Lake {
  readonly rows: readonly string[];
  readonly width: number;
  readonly start: number;
}

/** The letter of a cell. */
export function letterAt({ rows, width }: Lake, cell: number): string {
  return rows[Math.floor(cell / width)]?.[cell % width] ?? "";
}

/** What keeps rows from being a lake; undefined: nothing does. */
export function lakeProblem(rows: readonly string[]): string | undefined {
  const [first = ""] = rows;
  if (rows.some((row) => row.length !== first.length || !/^[SFHG]+$/.test(row))) {
    return "expected rows of one length made of S, F, H and G";
  }
  for (const letter of ["S", "G"]) {
    const count = rows.join("").split(letter).length - 1;
    if (count !== 1) return `expected one ${letter}, found ${count}`;
  }
  return pathToGoal(lakeOf(rows)) === undefined ? "expected a way from S to G, found none" : undefined;
}

/** The lake of rows that are one. */
export function lakeOf(rows: readonly string[]): Lake {
  return { rows, width: rows[0]?.length ?? 0, start: rows.join("").indexOf("S") };
}

/** The cell next to another one; at the edge of the lake the same. */
export function neighbour({ rows, width }: Lake, cell: number, direction: Direction): number {
  switch (direction) {
    case "left":
      return cell % width === 0 ? cell : cell - 1;
    case "right":
      return cell % width === width - 1 ? cell : cell + 1;
    case "up":
      return cell < width ? cell : cell - width;
    case "down":
      return cell + width < rows.length * width ? cell + width : cell;
  }
}

/** A shortest way from start to goal that meets no hole; undefined: there is none. */
export function pathToGoal(lake: Lake): readonly Direction[] | undefined {
  const ways = new Map<number, readonly Direction[]>([[lake.start, []]]);
  // Cells that are added while the map is read are read too: nearest first.
  for (const [cell, way] of ways) {
    if (letterAt(lake, cell) === "G") return way;
    for (const direction of directions) {
      const next = neighbour(lake, cell, direction);
      if (!ways.has(next) && letterAt(lake, next) !== "H") ways.set(next, [...way, direction]);
    }
  }
  return undefined;
}

/** A square lake with a fifth of holes and a way to the goal. */
export function randomLake(size: number, random: RandomSource): readonly string[] {
  for (;;) {
    const letters: string[] = Array.from({ length: size * size }, () =>
      random.integer(1, 5) === 1 ? "H" : "F",
    );
    letters[0] = "S";
    letters[letters.length - 1] = "G";
    const rows = Array.from({ length: size }, (_, row) =>
      letters.slice(row * size, (row + 1) * size).join(""),
    );
    if (lakeProblem(rows) === undefined) return rows;
  }
}
