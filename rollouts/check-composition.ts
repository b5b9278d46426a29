import { toBinary } from "@bufbuild/protobuf";
import { type RunRequest, RunRequestSchema, type ServiceInfo } from "../gen/index.js";
import { ConfigError } from "../servers/composition/config-error.js";
import { checkPairs } from "../servers/episode/check-pairs.js";
import type { RunDescribed } from "./describe-servers.js";
import { oneLine } from "./error-text.js";
import { contextOf, type Plan } from "./plan.js";
import { episodeRequest } from "./run-request.js";
import type { RunSettings } from "./run-settings.js";

/**
 * Refuses what cannot work before the first episode: names that the driver does not bind, drivers that it has not, a
 * benchmark for another environment, pairs that do not fit, sandboxes that the environment does not take. Throws
 * ConfigError with every problem found.
 */
export function checkComposition(settings: RunSettings, request: RunRequest, described: RunDescribed): void {
  const { episode, environment } = described;
  const problems: string[] = [];
  const bound = (path: string, name: string, names: readonly string[]): void => {
    if (names.includes(name)) return;
    const known = names.length === 0 ? "nothing" : names.join(", ");
    problems.push(`run.${path}: episode server ${settings.driver} binds no "${name}"; it binds ${known}`);
  };
  const { environments = [], agents = [], models = [], sandboxes = [] } = episode.bindings ?? {};
  bound("environment", request.environment, environments);
  for (const { agentId, agent, model } of request.agents) {
    bound(`agents.${agentId}`, agent, agents);
    if (model !== "") bound(`models.${agentId}`, model, models);
  }
  if (request.sandbox !== "") {
    bound("sandbox", request.sandbox, sandboxes);
    if (!environment.sandboxProviders.includes(request.sandbox)) {
      problems.push(
        `run.sandbox: environment server ${settings.environment} takes no boxes from "${request.sandbox}"`,
      );
    }
  }
  if (request.driver !== "" && !episode.drivers.includes(request.driver)) {
    problems.push(
      `run.driver: expected a driver "${request.driver}" at ${settings.driver}, found ${episode.drivers.join(", ")}`,
    );
  }
  try {
    checkPairs(request, described);
  } catch (error) {
    problems.push(`run: ${oneLine(error)}`);
  }
  if (problems.length > 0) throw new ConfigError(problems);
}

/** What a message may measure where a server does not say, in bytes; every server takes as much. */
const smallestLimit = 4 << 20;

function limitOf(service: ServiceInfo | undefined): number {
  return Math.max(smallestLimit, Number(service?.limits?.maxMessageBytes ?? 0));
}

/**
 * Refuses tasks that are larger than a message to the driver or the environment may be. Throws ConfigError.
 */
export function checkSizes(plan: Plan, request: RunRequest, { episode, environment }: RunDescribed): void {
  const limit = Math.min(limitOf(episode.service), limitOf(environment.service));
  const problems = plan.episodes
    .filter(({ repeat }) => repeat === 0)
    .flatMap((planned) => {
      const whole = episodeRequest(request, planned, contextOf(planned, 0));
      const size = toBinary(RunRequestSchema, whole).length;
      return size <= limit
        ? []
        : [`${planned.place}: expected a task whose message has at most ${limit} bytes, found ${size}`];
    });
  if (problems.length > 0) throw new ConfigError(problems);
}
