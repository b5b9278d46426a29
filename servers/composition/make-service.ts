import { agentService } from "../agent/agent-service.js";
import { environmentService } from "../environment/environment-service.js";
import { type EpisodeServiceOptions, episodeService } from "../episode/episode-service.js";
import type { EpisodeStore } from "../episode/episode-store.js";
import type { EpisodeWatch } from "../episode/episode-watch.js";
import type { Bindings } from "../episode/peers.js";
import { modelService } from "../model/model-service.js";
import { definedFields } from "../runtime/defined-fields.js";
import type { Dial } from "../runtime/dial.js";
import type { HeldService } from "../runtime/held-service.js";
import type { Runtime } from "../runtime/runtime.js";
import { packageVersion } from "../runtime/version.js";
import type { Implementation } from "./load-servers.js";
import type { EpisodeEntry, ServerEntry } from "./server-schema.js";

/** What a service is made with beside its implementation. */
export interface ServiceParts {
  readonly runtime: Runtime;
  /** Reaches other servers. */
  readonly dial: Dial;
  /** What an episode server may bind. */
  readonly bindings: Bindings;
  /** Where an episode server writes its episodes down; absent: nowhere. */
  readonly store: EpisodeStore | undefined;
  /** Who watches the episodes of an episode server; absent: nobody. */
  readonly watch: EpisodeWatch | undefined;
}

/** The service of an implementation that runs here. */
export function makeService(
  implementation: Exclude<Implementation, { readonly kind: "elsewhere" | "composed" }>,
  { entry }: ServerEntry,
  { runtime, dial, bindings, store, watch }: ServiceParts,
): HeldService {
  switch (implementation.kind) {
    case "environment":
      return environmentService(implementation.definition, runtime);
    case "agent":
      return agentService({
        definition: implementation.definition,
        runtime,
        dial,
        defaults: entry.options ?? {},
      });
    case "model":
      return modelService({
        definition: implementation.definition,
        runtime,
        ...("max_concurrent_calls" in entry && entry.max_concurrent_calls !== undefined
          ? { maxConcurrentCalls: entry.max_concurrent_calls }
          : {}),
      });
    case "episode":
      return episodeService({
        runtime,
        drivers: implementation.drivers,
        driverOptions: entry.options ?? {},
        dial,
        bindings,
        ...(store === undefined ? {} : { store }),
        watch,
        timeouts: timeoutsOf(entry as EpisodeEntry),
        version: packageVersion,
      });
  }
}

function timeoutsOf(entry: EpisodeEntry): EpisodeServiceOptions["timeouts"] & object {
  return definedFields({
    queueMs: entry.queue_timeout,
    episodeMs: entry.episode_timeout,
    seedMs: entry.seed_timeout,
    openMs: entry.open_timeout,
    activationMs: entry.activation_timeout,
    verificationMs: entry.verification_timeout,
    cleanUpMs: entry.cleanup_timeout,
  });
}
