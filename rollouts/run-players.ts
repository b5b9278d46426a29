import { checkNames } from "../servers/composition/check-run.js";
import type { Config } from "../servers/composition/load-config.js";
import { loadServers } from "../servers/composition/load-servers.js";
import { type Players, type PlayersContext, playersOf } from "../servers/composition/players.js";
import type { RunConfig } from "../servers/composition/run-schema.js";
import type { Problem } from "../servers/runtime/problem.js";

/** A driver of an episode server. */
export interface RunDriver {
  /** Name of the episode server. */
  readonly server: string;
  /** Name of the driver; empty: its first. */
  readonly driver: string;
  /** Finds what a server is made of; absent: as the configuration says. */
  readonly load?: PlayersContext["load"];
}

/** Who plays what a driver of an episode server is asked for. Throws ConfigError where that cannot be said. */
export async function playersAt(config: Config, { server, driver, load }: RunDriver): Promise<Players> {
  const problems: Problem[] = [];
  const fromConfig: PlayersContext["load"] = async (name) => (await loadServers(config, [name])).get(name);
  const asked = { server, driver, optionsJson: "" };
  const players = await playersOf(config.servers, asked, { load: load ?? fromConfig, problems });
  if (problems.length > 0) throw config.refuse(problems);
  return players;
}

/**
 * Who plays the episodes of a run with a driver of its server; absent: its first. Throws ConfigError where that cannot be
 * said, or the run's names are not those that they must be there.
 */
export async function runPlayers(config: Config, run: RunConfig, driver = ""): Promise<Players> {
  const players = await playersAt(config, { server: run.driver, driver });
  const problems: Problem[] = [];
  checkNames(run, config.servers, { problems, at: ["run"], names: players.names });
  if (problems.length > 0) throw config.refuse(problems);
  return players;
}
