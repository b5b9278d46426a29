/** What is wrong with a configuration or an input file: one clear line each, told before anything starts. */
export class ConfigError extends Error {
  constructor(
    /** One line for each problem. */
    readonly problems: readonly string[],
  ) {
    super(problems.join("\n"));
    this.name = "ConfigError";
  }
}
