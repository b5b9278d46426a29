import type { Meter, Tracer } from "@opentelemetry/api";
import { PrometheusExporter } from "@opentelemetry/exporter-prometheus";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { MeterProvider } from "@opentelemetry/sdk-metrics";
import { BatchSpanProcessor, NodeTracerProvider } from "@opentelemetry/sdk-trace-node";
import { packageVersion } from "../runtime/version.js";

/** What is told to whom. */
export interface TelemetryOptions {
  /** Where Prometheus reads `/metrics`; undefined: nowhere. */
  readonly prometheus?: { readonly host: string; readonly port: number } | undefined;
  /** URL that spans are sent to, OTLP over HTTP, such as `http://127.0.0.1:4318/v1/traces`; undefined: nowhere. */
  readonly traces?: string | undefined;
  /** Told what could not be sent when it ended: telemetry decides nothing, so that nobody else hears of it. */
  readonly onLost?: (error: unknown) => void;
}

/** How long a collector may take for a batch of spans; longer, and the process that ends would wait for it. */
const exportMs = 3_000;

/** Telemetry of a process. */
export interface Telemetry extends AsyncDisposable {
  readonly meter: Meter | undefined;
  readonly tracer: Tracer | undefined;
  /** Where `/metrics` is read. */
  readonly prometheusUrl: string | undefined;
}

/** Starts what was asked for. Rejects where the address of Prometheus is taken. */
export async function startTelemetry({
  prometheus,
  traces,
  onLost = () => undefined,
}: TelemetryOptions): Promise<Telemetry> {
  const resource = resourceFromAttributes({
    "service.name": "touchstone",
    "service.version": packageVersion,
  });
  const reader =
    prometheus === undefined
      ? undefined
      : new PrometheusExporter({ ...prometheus, preventServerStart: true });
  const meters = reader === undefined ? undefined : new MeterProvider({ resource, readers: [reader] });
  const tracers =
    traces === undefined
      ? undefined
      : new NodeTracerProvider({
          resource,
          spanProcessors: [
            new BatchSpanProcessor(new OTLPTraceExporter({ url: traces, timeoutMillis: exportMs })),
          ],
        });
  await reader?.startServer();
  return {
    meter: meters?.getMeter("touchstone", packageVersion),
    tracer: tracers?.getTracer("touchstone", packageVersion),
    prometheusUrl:
      prometheus === undefined ? undefined : `http://${prometheus.host}:${prometheus.port}/metrics`,
    async [Symbol.asyncDispose]() {
      for (const ended of await Promise.allSettled([meters?.shutdown(), tracers?.shutdown()])) {
        if (ended.status === "rejected") onLost(ended.reason);
      }
    },
  };
}
