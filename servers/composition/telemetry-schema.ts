import { z } from "zod";
import { listenText } from "./listen-text.js";

/** What a process tells of itself; nothing where the key is absent. */
export const telemetrySchema = z
  .strictObject({
    prometheus: listenText.describe("host:port where Prometheus reads /metrics. Absent: nowhere.").optional(),
    traces: z
      .url({ protocol: /^https?$/ })
      .describe(
        "URL that OpenTelemetry spans are sent to, OTLP over HTTP: http://127.0.0.1:4318/v1/traces. Absent: nowhere.",
      )
      .optional(),
  })
  .describe("Metrics and traces of the servers that are started here; off where it is absent.");

/** Read telemetry settings. */
export type TelemetryConfig = z.output<typeof telemetrySchema>;
