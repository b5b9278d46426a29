import { create } from "@bufbuild/protobuf";
import {
  AckRequestSchema,
  AckResponseSchema,
  AttachRequestSchema,
  AttachResponseSchema,
  type EpisodeEvent,
  EpisodeEventSchema,
  EpisodeService,
  EpisodeServiceAggregateMetricsResponseSchema,
  EpisodeServiceDescribeResponseSchema,
  Feature,
  GapSchema,
  ReadTrajectoryRequestSchema,
  RunRequestSchema,
  RunResponseSchema,
  StopRequestSchema,
  StopResponseSchema,
} from "../../gen/index.js";
import { serviceInfo } from "../runtime/describe.js";
import type { Dial } from "../runtime/dial.js";
import { followEvents } from "../runtime/follow.js";
import { requestHeaderOf } from "../runtime/grpc/index.js";
import type { HeldService } from "../runtime/held-service.js";
import type { Caller } from "../runtime/operation.js";
import { route, tellDelivery } from "../runtime/route.js";
import type { Runtime } from "../runtime/runtime.js";
import { validate, warmUp } from "../runtime/validate.js";
import type { DriverDefinition } from "./define-driver.js";
import { configureDrivers } from "./driver-options.js";
import type { EpisodeRecord } from "./episode-record.js";
import type { EpisodeStore } from "./episode-store.js";
import type { EpisodeWatch } from "./episode-watch.js";
import { Episodes } from "./episodes.js";
import { forwardMetrics } from "./forward-metrics.js";
import { type Bindings, createPeers } from "./peers.js";
import { defaultPhaseTimeouts, describeTimeouts, type PhaseTimeouts } from "./timeouts.js";

const heartbeat = () => create(EpisodeEventSchema, { event: { case: "heartbeat", value: {} } });
const gap = (untilSequence: bigint) =>
  create(EpisodeEventSchema, { event: { case: "gap", value: create(GapSchema, { untilSequence }) } });

/** Some 50 MB of names. */
const defaultKeptNames = 100_000;

/** What an episode service is made of. */
export interface EpisodeServiceOptions {
  readonly runtime: Runtime;
  /** Drivers that Run may name, the default first. */
  readonly drivers: readonly DriverDefinition[];
  /** Options of the driver; of several each has its own under its name. */
  readonly driverOptions?: Readonly<Record<string, unknown>>;
  readonly bindings: Bindings;
  readonly dial: Dial;
  /** Bounds of phases where Run asks for none. */
  readonly timeouts?: Partial<PhaseTimeouts>;
  /** Where episodes are written down (feature DURABLE), whose instance the runtime's must be; absent: nowhere. */
  readonly store?: EpisodeStore;
  /** Who watches the episodes; absent: nobody. */
  readonly watch?: EpisodeWatch | undefined;
  /** Names kept of episodes whose outcome is gone, so that none is run again; the oldest go first. 100,000. */
  readonly keptNames?: number;
  readonly version: string;
}

/** EpisodeService over drivers. Throws where episodes are capped and the wait for a place is not (EPI-E4-004). */
export function episodeService(options: EpisodeServiceOptions): HeldService {
  const { runtime, drivers, bindings, dial } = options;
  if (runtime.limits.maxSessions !== undefined && options.timeouts?.queueMs === undefined) {
    throw new Error(
      "max_concurrent_episodes needs queue_timeout: say how long an episode may wait for a place",
    );
  }
  const timeouts = { ...defaultPhaseTimeouts, ...options.timeouts };
  const peers = createPeers(bindings, { dial, clock: runtime.clock });
  const configured = configureDrivers(drivers, options.driverOptions);
  const pool = { drivers: configured, peers, sandboxes: bindings.sandboxes };
  const { store, watch, keptNames = defaultKeptNames } = options;
  const episodes = new Episodes({ runtime, pool, timeouts, store, watch, keptNames });
  warmUp([RunRequestSchema]);

  function follow(record: EpisodeRecord, call: { readonly signal: AbortSignal }, afterSequence: bigint) {
    const onLeave = record.reads();
    const operation = {
      events: record.events,
      attend: (caller?: Caller) => record.operation?.attend(caller) ?? (() => {}),
    };
    return followEvents<EpisodeEvent>(operation, { runtime, call, afterSequence, heartbeat, gap, onLeave });
  }

  const routed = route(runtime, EpisodeService, {
    describe: () =>
      create(EpisodeServiceDescribeResponseSchema, {
        service: serviceInfo(runtime, {
          name: "touchstone-episode",
          version: options.version,
          features: [Feature.METRICS, ...(store === undefined ? [] : [Feature.DURABLE])],
        }),
        drivers: drivers.map(({ name }) => name),
        bindings: {
          environments: [...peers.environments.keys()],
          agents: [...peers.agents.keys()],
          models: [...peers.models.keys()],
          sandboxes: [...bindings.sandboxes],
        },
        defaultTimeouts: describeTimeouts(timeouts),
      }),
    async *run(request, call) {
      validate(RunRequestSchema, request);
      const { record, delivery } = episodes.run(request, (name) => requestHeaderOf(call, name));
      tellDelivery(call, delivery);
      for await (const event of follow(record, call, request.afterSequence)) {
        yield create(RunResponseSchema, { event });
      }
    },
    async *attach(request, call) {
      validate(AttachRequestSchema, request);
      for await (const event of follow(episodes.known(request.episodeId), call, request.afterSequence)) {
        yield create(AttachResponseSchema, { event });
      }
    },
    stop(request) {
      validate(StopRequestSchema, request);
      const alreadyStopped = episodes.known(request.episodeId).stop(request.mode, request.reason);
      return create(StopResponseSchema, { alreadyStopped });
    },
    async *readTrajectory(request) {
      validate(ReadTrajectoryRequestSchema, request);
      yield* episodes.known(request.episodeId).trajectory.after(request.afterSequence);
    },
    ack(request) {
      validate(AckRequestSchema, request);
      return create(AckResponseSchema, { alreadyAcked: episodes.known(request.episodeId).ack() });
    },
    async aggregateMetrics(requests, call) {
      const response = await forwardMetrics(peers, requests, call);
      return create(EpisodeServiceAggregateMetricsResponseSchema, { response });
    },
  });
  return { routes: [routed], live: () => episodes.live, drain: () => episodes.drain() };
}
