import { ConfigError } from "../servers/composition/config-error.js";

/** Problems that are told; more are counted. */
const told = 10;

/**
 * Tasks that are wrong: the first of them, a line each, and how many more there are, since a file may have a million.
 */
export function badTasks(problems: readonly string[]): ConfigError {
  const more = problems.length - told;
  return new ConfigError([
    ...problems.slice(0, told),
    ...(more > 0 ? [`and ${more} more like these: ${problems.length} problems in all`] : []),
  ]);
}
