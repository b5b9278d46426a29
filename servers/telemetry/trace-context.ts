import { type Context, ROOT_CONTEXT, type Span, trace } from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";

const propagator = new W3CTraceContextPropagator();

/** Where a caller stands in a trace, by the W3C headers that it sent; without them the trace begins here. */
export function callerOf(header: (name: string) => string | undefined): Context {
  return propagator.extract(ROOT_CONTEXT, header, {
    get: (read, name) => read(name),
    keys: () => propagator.fields(),
  });
}

/** The W3C headers that put a call below a span. */
export function headersBelow(span: Span): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  propagator.inject(trace.setSpan(ROOT_CONTEXT, span), headers, {
    set: (carrier, name, value) => {
      carrier[name] = value;
    },
  });
  return headers;
}
