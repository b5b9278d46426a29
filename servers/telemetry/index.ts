/** Metrics for Prometheus and OpenTelemetry traces of a server's calls and episodes; loaded only where a configuration asks for them. */

export { metricsObserver, showLive } from "./metrics.js";
export { startTelemetry } from "./start-telemetry.js";
export { traceEpisodes } from "./trace-episodes.js";
export { traceObserver } from "./traces.js";
