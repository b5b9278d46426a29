import { ROOT_CONTEXT, SpanKind, SpanStatusCode, type Tracer } from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import type { CallObserver } from "../runtime/call-observer.js";
import { requestHeaderOf } from "../runtime/grpc/index.js";
import { callAttributes } from "./call-attributes.js";

const propagator = new W3CTraceContextPropagator();

/** A span for each call of a server, below the caller's where it sent a W3C traceparent. */
export function traceObserver(tracer: Tracer, server: string): CallObserver {
  return {
    begin(call) {
      const { method, context } = call;
      const parent = propagator.extract(ROOT_CONTEXT, context, {
        get: (carrier, key) => requestHeaderOf(carrier, key),
        keys: () => propagator.fields(),
      });
      const span = tracer.startSpan(
        `${method.parent.typeName}/${method.name}`,
        { kind: SpanKind.SERVER, attributes: { ...callAttributes(call), "touchstone.server": server } },
        parent,
      );
      return ({ code, reason }) => {
        span.setAttribute("rpc.response.status_code", code);
        if (reason !== undefined) span.setAttribute("touchstone.reason", reason);
        if (code !== "OK") span.setStatus({ code: SpanStatusCode.ERROR, message: reason ?? code });
        span.end();
      };
    },
  };
}
