import { shuffled } from "../shuffled.js";
import { splitmix64 } from "../splitmix64.js";

/** The rooms, in their order: each is a stage. */
export const roomNames = ["cell", "library", "vault"] as const;
export type RoomName = (typeof roomNames)[number];

/** A room: what can be seen in it, and what opens its door. */
export interface Room {
  readonly scene: string;
  readonly answer: string;
}

const colours = ["red", "green", "blue", "black"];
const subjects = ["Bridges", "Clouds", "Engines", "Gardens", "Maps", "Rivers", "Stars", "Wool"];

/** Rooms from a seed. */
export function randomRooms(seed: bigint): Readonly<Record<RoomName, Room>> {
  const random = splitmix64(seed);
  const [key = "", ...others] = shuffled(colours, random);
  const titles = shuffled(subjects, random).slice(0, 4);
  const [first = ""] = [...titles].sort();
  const [a, b] = [random.integer(11, 39), random.integer(11, 25)];
  return {
    cell: {
      scene: `Keys hang on the wall: ${shuffled([key, ...others], random).join(", ")}. Beneath them is scratched: "Not ${others.slice(0, 2).join(", not ")}; and ${others[2]} breaks in the lock."`,
      answer: key,
    },
    library: {
      scene: `Books stand on a shelf: ${titles.join(", ")}. On the desk is carved: "The one that a dictionary would name first."`,
      answer: first,
    },
    vault: {
      scene: `A door with a dial for numbers. A card on it says: "${a} rows of ${b} bars, and one bar missing."`,
      answer: String(a * b - 1),
    },
  };
}
