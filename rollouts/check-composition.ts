import { encodedBytes } from "../clients/channel/encode-message.js";
import { usualMaxMessageBytes } from "../clients/metadata.js";
import { printable } from "../clients/printable.js";
import { BadRequestSchema } from "../gen/google/rpc/error_details_pb.js";
import { type RunRequest, RunRequestSchema, type ServiceInfo } from "../gen/index.js";
import type { Config } from "../servers/composition/load-config.js";
import { checkPairs } from "../servers/episode/check-pairs.js";
import type { Problem } from "../servers/runtime/problem.js";
import { Refusal } from "../servers/runtime/refusal.js";
import { badTasks } from "./bad-tasks.js";
import type { RunDescribed } from "./describe-servers.js";
import { contextOf, type Plan } from "./plan.js";
import { episodeRequest } from "./run-request.js";
import type { RunSettings } from "./run-settings.js";

/**
 * What keeps a composition from working: names that whoever plays does not bind, drivers that it has not, or that take
 * no episodes, pairs that do not fit, sandboxes that the environment does not take; each with its path in the run. Empty: it can work.
 */
export function unmetBy(settings: RunSettings, request: RunRequest, described: RunDescribed): Problem[] {
  const { episode, player } = described;
  const unmet: Problem[] = [];
  if (player !== undefined) {
    const bound = (path: readonly string[], name: string, names: readonly string[]): void => {
      if (names.includes(name)) return;
      const known = names.length === 0 ? "nothing" : printable(names.join(", "));
      const { server } = settings.players.last;
      unmet.push({ path, text: `episode server ${server} binds no "${name}"; it binds ${known}` });
    };
    const { environments = [], agents = [], models = [], sandboxes = [] } = player.bindings ?? {};
    bound(["environment"], request.environment, environments);
    for (const { agentId, agent, model } of request.agents) {
      bound(["agents", agentId], agent, agents);
      if (model !== "") bound(["models", agentId], model, models);
    }
    if (request.sandbox !== "") bound(["sandbox"], request.sandbox, sandboxes);
  }
  if (request.driver !== "" && !episode.drivers.includes(request.driver)) {
    const found = printable(episode.drivers.join(", "));
    const text = `expected a driver "${request.driver}" at ${settings.driver}, found ${found}`;
    unmet.push({ path: ["driver"], text });
  }
  if (episode.service?.limits?.maxSessions === 0) {
    const text = `expected an episode server that takes episodes, ${settings.driver} declares max_sessions 0`;
    unmet.push({ path: ["driver"], text });
  }
  return [...unmet, ...unmetPairs(request, described)];
}

function unmetPairs(request: RunRequest, described: RunDescribed): Problem[] {
  const { environment, agents, needs = { environment: [] } } = described;
  if (environment === undefined) return [];
  try {
    checkPairs(request, { environment, agents }, needs);
    return [];
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return error
      .findDetails(BadRequestSchema)
      .flatMap(({ fieldViolations }) => fieldViolations)
      .map(({ field, description }) => ({ path: pathInRun(field, request), text: description }));
  }
}

/** Where a field of the request to a driver stands in the run that it was made of: `agents[0].model` in `models`. */
function pathInRun(field: string, { agents }: RunRequest): readonly string[] {
  const [, index, of] = /^agents\[(\d+)\]\.(\w+)$/.exec(field) ?? [];
  if (index === undefined) return [field];
  return [of === "model" ? "models" : "agents", agents[Number(index)]?.agentId ?? index];
}

/** Refuses a composition that cannot work, before the first episode. Throws ConfigError with all that is unmet. */
export function checkComposition(
  config: Config,
  settings: RunSettings,
  of: { readonly request: RunRequest; readonly described: RunDescribed },
): void {
  const unmet = unmetBy(settings, of.request, of.described);
  if (unmet.length > 0)
    throw config.refuse(unmet.map(({ path, text }) => ({ path: ["run", ...path], text })));
}

/** What a message to a service may measure, in bytes; every server takes as much as is usual. */
function limitOf(service: ServiceInfo | undefined): number {
  return Math.max(usualMaxMessageBytes, Number(service?.limits?.maxMessageBytes ?? 0));
}

/**
 * Refuses tasks that are larger than a message to the driver or the environment may be. Throws ConfigError.
 */
export function checkSizes(plan: Plan, request: RunRequest, { episode, environment }: RunDescribed): void {
  const limit = Math.min(limitOf(episode.service), limitOf(environment?.service));
  const problems = plan.episodes
    .filter(({ repeat }) => repeat === 0)
    .flatMap((planned) => {
      const whole = episodeRequest(request, planned, contextOf(planned, 0));
      const size = encodedBytes(RunRequestSchema, whole);
      return size <= limit
        ? []
        : [
            {
              place: planned.place,
              text: `expected a task whose message has at most ${limit} bytes, found ${size}`,
            },
          ];
    });
  if (problems.length > 0) throw badTasks(problems);
}
