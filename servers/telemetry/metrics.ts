import type { Meter } from "@opentelemetry/api";
import type { CallObserver } from "../runtime/call-observer.js";

/** Upper bounds of the buckets of durations, in seconds: from a quick step to a long verification. */
const secondsBuckets = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600,
];

/** What a metrics observer watches. */
export interface MetricsOptions {
  readonly meter: Meter;
  /** The server's name in its configuration. */
  readonly server: string;
  readonly now: () => number;
}

/** Counts and times the calls of a server, by rpc, code and reason. */
export function metricsObserver({ meter, server, now }: MetricsOptions): CallObserver {
  const calls = meter.createCounter("touchstone_calls", { description: "Calls that have ended." });
  const running = meter.createUpDownCounter("touchstone_calls_running", {
    description: "Calls that are on their way.",
  });
  const seconds = meter.createHistogram("touchstone_call_seconds", {
    description: "Durations of calls, waiting for admission and turn included.",
    unit: "s",
    advice: { explicitBucketBoundaries: secondsBuckets },
  });
  return {
    begin({ method }) {
      const rpc = { server, service: method.parent.typeName, method: method.name };
      const began = now();
      running.add(1, rpc);
      return ({ code, reason }) => {
        running.add(-1, rpc);
        calls.add(1, { ...rpc, code, ...(reason === undefined ? {} : { reason }) });
        seconds.record((now() - began) / 1000, rpc);
      };
    },
  };
}

/** Shows the number of sessions, gateways or episodes that a server holds. */
export function showLive(
  { meter, server }: Pick<MetricsOptions, "meter" | "server">,
  live: () => number,
): void {
  meter
    .createObservableGauge("touchstone_live", {
      description: "Sessions, gateways and episodes that are open.",
    })
    .addCallback((result) => result.observe(live(), { server }));
}
