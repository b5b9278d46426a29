import { ConfigError } from "../servers/composition/config-error.js";

/** Problems that are told; more are counted. */
const told = 10;

/** What is wrong with a task. */
export interface TaskProblem {
  /** Where it was read: file and line, or split and id. */
  readonly place: string;
  /** What was expected, and what was found. */
  readonly text: string;
}

/**
 * Tasks that are wrong: a line for each thing that is wrong, at the first task that has it, and how many more there are,
 * since a file may have a million.
 */
export function badTasks(problems: readonly TaskProblem[]): ConfigError {
  const alike = new Map<string, string[]>();
  for (const { place, text } of problems) {
    const places = alike.get(text);
    if (places === undefined) alike.set(text, [place]);
    else places.push(place);
  }
  const lines = [...alike].map(([text, [first = "", ...further]]) => {
    const uncounted = further.length - told;
    const others = further.slice(0, told).join(", ") + (uncounted > 0 ? ` and ${uncounted} more` : "");
    return `${first}: ${text}${others === "" ? "" : ` (so too ${others})`}`;
  });
  const hidden = lines.length - told;
  return new ConfigError([
    ...lines.slice(0, told),
    ...(hidden > 0 ? [`and ${hidden} more like these: ${problems.length} problems in all`] : []),
  ]);
}
