import { SpanKind, SpanStatusCode, type Tracer } from "@opentelemetry/api";
import type { CallObserver } from "../runtime/call-observer.js";
import { requestHeaderOf } from "../runtime/grpc/index.js";
import { callAttributes } from "./call-attributes.js";
import { callerOf } from "./trace-context.js";

/** A span for each call of a server, below the caller's where it sent a W3C traceparent. */
export function traceObserver(tracer: Tracer, server: string): CallObserver {
  return {
    begin(call) {
      const { method, context } = call;
      const span = tracer.startSpan(
        `${method.parent.typeName}/${method.name}`,
        { kind: SpanKind.SERVER, attributes: { ...callAttributes(call), "touchstone.server": server } },
        callerOf((name) => requestHeaderOf(context, name)),
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
