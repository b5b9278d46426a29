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
}

/** Telemetry of a process. */
export interface Telemetry extends AsyncDisposable {
  readonly meter: Meter | undefined;
  readonly tracer: Tracer | undefined;
  /** Where `/metrics` is read. */
  readonly prometheusUrl: string | undefined;
}

/** Starts what was asked for. Rejects where the address of Prometheus is taken. */
export async function startTelemetry({ prometheus, traces }: TelemetryOptions): Promise<Telemetry> {
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
          spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter({ url: traces }))],
        });
  await reader?.startServer();
  return {
    meter: meters?.getMeter("touchstone", packageVersion),
    tracer: tracers?.getTracer("touchstone", packageVersion),
    prometheusUrl:
      prometheus === undefined ? undefined : `http://${prometheus.host}:${prometheus.port}/metrics`,
    async [Symbol.asyncDispose]() {
      await Promise.all([meters?.shutdown(), tracers?.shutdown()]);
    },
  };
}
