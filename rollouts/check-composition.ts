import { encodedBytes } from "../clients/channel/encode-message.js";
import { usualMaxMessageBytes } from "../clients/metadata.js";
import { BadRequestSchema } from "../gen/google/rpc/error_details_pb.js";
import { type RunRequest, RunRequestSchema, type ServiceInfo } from "../gen/index.js";
import { ConfigError } from "../servers/composition/config-error.js";
import { checkPairs } from "../servers/episode/check-pairs.js";
import { Refusal } from "../servers/runtime/refusal.js";
import type { RunDescribed } from "./describe-servers.js";
import { contextOf, type Plan } from "./plan.js";
import { episodeRequest } from "./run-request.js";
import type { RunSettings } from "./run-settings.js";

/** A requirement of a composition that is not met. */
export interface Unmet {
  /** What asks for it: a path of the run (`environment`), or of the request to its driver (`agents[0].model`). */
  readonly field: string;
  /** What was expected, what was found. */
  readonly text: string;
}

/**
 * What keeps a composition from working: names that the driver does not bind, drivers that it has not, pairs that do not
 * fit, sandboxes that the environment does not take. Empty: it can work.
 */
export function unmetBy(settings: RunSettings, request: RunRequest, described: RunDescribed): Unmet[] {
  const { episode } = described;
  const unmet: Unmet[] = [];
  const bound = (field: string, name: string, names: readonly string[]): void => {
    if (names.includes(name)) return;
    const known = names.length === 0 ? "nothing" : names.join(", ");
    unmet.push({ field, text: `episode server ${settings.driver} binds no "${name}"; it binds ${known}` });
  };
  const { environments = [], agents = [], models = [], sandboxes = [] } = episode.bindings ?? {};
  bound("environment", request.environment, environments);
  for (const { agentId, agent, model } of request.agents) {
    bound(`agents.${agentId}`, agent, agents);
    if (model !== "") bound(`models.${agentId}`, model, models);
  }
  if (request.sandbox !== "") bound("sandbox", request.sandbox, sandboxes);
  if (request.driver !== "" && !episode.drivers.includes(request.driver)) {
    const found = episode.drivers.join(", ");
    const text = `expected a driver "${request.driver}" at ${settings.driver}, found ${found}`;
    unmet.push({ field: "driver", text });
  }
  return [...unmet, ...unmetPairs(request, described)];
}

function unmetPairs(request: RunRequest, described: RunDescribed): Unmet[] {
  try {
    checkPairs(request, described, { environment: described.needs ?? [] });
    return [];
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return error
      .findDetails(BadRequestSchema)
      .flatMap(({ fieldViolations }) => fieldViolations)
      .map(({ field, description }) => ({ field, text: description }));
  }
}

/** Refuses a composition that cannot work, before the first episode. Throws ConfigError with all that is unmet. */
export function checkComposition(settings: RunSettings, request: RunRequest, described: RunDescribed): void {
  const unmet = unmetBy(settings, request, described);
  if (unmet.length > 0) throw new ConfigError(unmet.map(({ field, text }) => `run.${field}: ${text}`));
}

/** What a message to a service may measure, in bytes; every server takes as much as is usual. */
function limitOf(service: ServiceInfo | undefined): number {
  return Math.max(usualMaxMessageBytes, Number(service?.limits?.maxMessageBytes ?? 0));
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
      const size = encodedBytes(RunRequestSchema, whole);
      return size <= limit
        ? []
        : [`${planned.place}: expected a task whose message has at most ${limit} bytes, found ${size}`];
    });
  if (problems.length > 0) throw new ConfigError(problems);
}
