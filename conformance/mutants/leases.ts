import { create } from "@bufbuild/protobuf";
import { type Duration, DurationSchema } from "@bufbuild/protobuf/wkt";
import {
  ClosedBy,
  EnvironmentServiceKeepAliveResponseSchema,
  type StepStreamRequest,
} from "../../gen/index.js";
import { Refusal } from "../../servers/runtime/refusal.js";
import {
  around,
  aroundCalls,
  type Call,
  eachOf,
  inAnswers,
  inDescriptors,
  inErrors,
  inRequests,
  instead,
  isStream,
  sessionOf,
  thenDo,
} from "./calls.js";
import { expiryLeaks } from "./close.js";
import { reasonOf } from "./errors-told.js";
import type { Build, Mutant } from "./mutant.js";
import { inLimits, together } from "./seams.js";

const msOf = (duration: Duration | undefined): number | undefined =>
  duration === undefined ? undefined : Number(duration.seconds) * 1_000 + duration.nanos / 1e6;
const lasting = (ms: number): Duration =>
  create(DurationSchema, { seconds: BigInt(Math.floor(ms / 1_000)), nanos: (ms % 1_000) * 1e6 });
const least = 1_000;

/** Grants another lease than it says: `granted` of what the caller hears. */
const secretly = (granted: (told: number) => number): Build =>
  together(
    inLimits(({ lease }) => ({ lease: { ...lease, minimumMs: 100 } })),
    inRequests("seed", (request) => {
      const asked = msOf(request.lease);
      if (asked !== undefined) Object.assign(request, { lease: lasting(granted(Math.max(least, asked))) });
    }),
    inDescriptors((descriptor, { lease }) => {
      const told = msOf(lease);
      if (told === undefined || descriptor.lease?.duration === undefined) return;
      // Requests were changed before they came here.
      descriptor.lease.duration = lasting(least);
    }),
    inAnswers("describe", ({ service }) => {
      if (service?.limits?.lease !== undefined) service.limits.lease.minimum = lasting(least);
    }),
  );

/** Holds a session alive while a stream of it is open. */
const streamsRenew: Build = aroundCalls((call, next, ask) => {
  const rpc = call.method.localName;
  if (rpc !== "watchSteps" && rpc !== "stepStream") return next(call);
  let sessionId = sessionOf(call.request);
  const timer = setInterval(() => {
    if (sessionId !== "") void ask("keepAlive", { sessionId }, call.context).catch(() => undefined);
  }, 200);
  const seen = (message: unknown): never => {
    const { operations } = message as StepStreamRequest;
    const step = operations[0]?.operation;
    if (step?.case === "step") sessionId = step.value.sessionId;
    return message as never;
  };
  const request = isStream(call.request) ? eachOf(call.request, seen) : call.request;
  return thenDo(next({ ...call, request }) as AsyncIterable<unknown>, () => clearInterval(timer));
});

/** Tells KeepAlive's answer of a session that lives, and renews nothing. */
const keepAliveIsIdle = (): Build => {
  const sessions = new Map<string, { lease: number; until: number }>();
  const touch = (call: Call): void => {
    const session = sessions.get(sessionOf(call.request));
    if (session !== undefined) session.until = performance.now() + session.lease;
  };
  return together(
    aroundCalls((call, next) => {
      if (call.method.localName !== "keepAlive") touch(call);
      return next(call);
    }),
    around("seed", async ({ request }, next) => {
      const answer = await next();
      const lease = msOf(answer.session?.lease?.duration) ?? 0;
      sessions.set(request.sessionId, { lease, until: performance.now() + lease });
      return answer;
    }),
    around("keepAlive", async ({ request }, next) => {
      const session = sessions.get(request.sessionId);
      if (session === undefined || performance.now() > session.until) return await next();
      return create(EnvironmentServiceKeepAliveResponseSchema, {
        lease: { duration: lasting(session.lease) },
      });
    }),
  );
};

/** Ends the call of an operation that takes longer than its session's lease. */
const leaseEndsCalls = (): Build => {
  const leases = new Map<string, number>();
  return together(
    inDescriptors(({ sessionId, lease }) => void leases.set(sessionId, msOf(lease?.duration) ?? 0)),
    around("step", async ({ request }, next) => {
      const lease = leases.get(request.sessionId) ?? 60_000;
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<never>((_resolve, reject) => {
        timer = setTimeout(() => reject(new Refusal("SESSION_EXPIRED", "its lease has passed")), lease);
      });
      return await Promise.race([next(), late]).finally(() => clearTimeout(timer));
    }),
  );
};

/** R6: what a caller opens ends by itself. */
export const leaseMutants: readonly Mutant[] = [
  {
    name: "lease-not-echoed",
    clause: "ALL-LEASE-001",
    what: "echoes the lease that was asked for, whatever it grants",
    build: inDescriptors((descriptor, { lease }) => {
      if (descriptor.lease !== undefined && lease !== undefined) descriptor.lease.duration = lease;
    }),
  },
  {
    name: "lease-halved",
    clause: "ALL-LEASE-002",
    what: "ends sessions after half their lease",
    build: secretly((told) => told / 2),
  },
  {
    name: "lease-never-expires",
    clause: "ALL-LEASE-003",
    what: "ends no session by its silence",
    build: secretly(() => 3_600_000),
  },
  {
    name: "expired-as-unknown",
    clause: "ALL-LEASE-004",
    what: "knows nothing of a session that its lease ended",
    build: inErrors((error) =>
      reasonOf(error) === "SESSION_EXPIRED"
        ? new Refusal("SESSION_UNKNOWN", "no session of this id is known here")
        : undefined,
    ),
  },
  {
    name: "expiry-leaks-slot",
    clause: "ALL-LEASE-005",
    what: "keeps the place of a session that its lease ended",
    variant: "capacity",
    build: expiryLeaks,
  },
  {
    name: "keepalive-no-renewal",
    clause: "ALL-LEASE-006",
    what: "renews nothing by KeepAlive",
    build: keepAliveIsIdle(),
  },
  {
    name: "lease-kills-running-call",
    clause: "ALL-LEASE-007",
    what: "ends an operation when the lease passes during it",
    build: leaseEndsCalls(),
  },
  {
    name: "close-after-expiry-fails",
    clause: "ALL-LEASE-008",
    what: "refuses to close a session that its lease ended",
    build: around("close", async (_call, next) => {
      const answer = await next();
      if (answer.receipt?.closedBy === ClosedBy.LEASE)
        throw new Refusal("SESSION_EXPIRED", "its lease has passed");
      return answer;
    }),
  },
  {
    name: "default-lease-hour",
    clause: "ALL-LEASE-010",
    what: "grants an hour where no lease was asked for",
    build: inLimits(({ lease }) => ({ lease: { ...lease, defaultMs: 3_600_000 } })),
  },
  {
    name: "lifetime-renewed",
    clause: "ALL-LEASE-011",
    what: "never ends a session by its age",
    variant: "core",
    build: (parts) => {
      const { maxLifetimeMs = 0 } = parts.runtime.limits;
      return together(
        inLimits(() => ({ maxLifetimeMs: undefined })),
        inDescriptors(({ lease }) => {
          if (lease !== undefined) Object.assign(lease, { maxLifetime: lasting(maxLifetimeMs) });
        }),
        inAnswers("describe", ({ service }) => {
          if (service?.limits !== undefined)
            Object.assign(service.limits, { maxLifetime: lasting(maxLifetimeMs) });
        }),
      )(parts);
    },
  },
  {
    name: "idle-stream-renews",
    clause: "ALL-LEASE-012",
    what: "renews the lease while a stream of the session is open",
    build: streamsRenew,
  },
  {
    name: "refusal-renews",
    clause: "ALL-LEASE-013",
    what: "renews the lease by a call that it refuses",
    build: inErrors((_error, call, ask) => {
      const sessionId = sessionOf(call.request);
      if (sessionId !== "" && call.method.localName !== "keepAlive")
        void ask("keepAlive", { sessionId }, call.context).catch(() => undefined);
      return undefined;
    }),
  },
  {
    name: "session-invented",
    clause: "ALL-LEASE-014",
    what: "keeps alive what was never opened",
    build: instead(
      "keepAlive",
      (error) => reasonOf(error) === "SESSION_UNKNOWN",
      () => create(EnvironmentServiceKeepAliveResponseSchema, { lease: { duration: lasting(60_000) } }),
    ),
  },
  {
    name: "shortest-lease-1min",
    clause: "ALL-LEASE-015",
    what: "grants no lease shorter than a minute",
    area: ["ALL-LEASE-015.*"],
    build: inLimits(({ lease }) => ({ lease: { ...lease, minimumMs: 60_000 } })),
  },
];
