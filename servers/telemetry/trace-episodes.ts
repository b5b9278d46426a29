import { SpanKind, SpanStatusCode, type Tracer } from "@opentelemetry/api";
import { FailureKind, Stage } from "../../gen/index.js";
import type { EpisodeWatch } from "../episode/episode-watch.js";
import { Refusal } from "../runtime/refusal.js";
import { callerOf, headersBelow } from "./trace-context.js";

/**
 * A span for each episode of a server, from its admission to its outcome, below the caller's where it sent a W3C
 * traceparent; the calls that the episode makes are below it. Its stages are events. It tells names only, never what was
 * said or done (R16).
 */
export function traceEpisodes(tracer: Tracer, server: string): EpisodeWatch {
  return {
    begin({ episodeId: { rolloutId, attempt }, request, header }) {
      const attributes = {
        "touchstone.server": server,
        "touchstone.rollout_id": rolloutId,
        "touchstone.attempt": attempt,
        "touchstone.environment": request.environment,
        "touchstone.agents": request.agents.map(({ agent }) => agent),
      };
      const kind = SpanKind.INTERNAL;
      const span = tracer.startSpan("touchstone.episode", { kind, attributes }, callerOf(header));
      const failed = (message: string): void => {
        span.setStatus({ code: SpanStatusCode.ERROR, message });
      };
      return {
        headers: headersBelow(span),
        stage({ stage, agentId, index }) {
          span.addEvent(Stage[stage] ?? `STAGE_${stage}`, {
            ...(agentId === "" ? {} : { "touchstone.agent_id": agentId }),
            "touchstone.index": index,
          });
        },
        end(outcome) {
          const { case: ended = "unknown", value } = outcome.outcome;
          span.setAttributes({ "touchstone.outcome": ended, "touchstone.steps": outcome.steps });
          if (value?.$typeName === "touchstone.v1.Failure") {
            span.setAttribute("touchstone.failure.stage", Stage[value.stage] ?? `${value.stage}`);
            failed(FailureKind[value.kind] ?? `${value.kind}`);
          }
          span.end();
        },
        refused(error) {
          failed(error instanceof Refusal ? error.reasonName : "INTERNAL");
          span.end();
        },
      };
    },
  };
}
