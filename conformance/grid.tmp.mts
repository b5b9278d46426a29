import { runConformance } from "./runner/run-conformance.js"; import { checkConformanceFile } from "./fixture/conformance-file.js";
import { createRuntime, environmentService, serve } from "../servers/index.js"; import * as grid from "../servers/environment/worlds/gridworld/index.js";
import { createClient } from "@connectrpc/connect"; import { createGrpcTransport } from "@connectrpc/connect-node"; import { toJson } from "@bufbuild/protobuf"; import { EnvironmentService, TaskSampleSchema } from "../gen/index.js";
const def = grid.gridworld({} as never);
const runtime = createRuntime(); const server = await serve({ runtime, services: [environmentService(def as never, runtime)] });
const d = await createClient(EnvironmentService, createGrpcTransport({ baseUrl: server.url })).describe({});
const file = checkConformanceFile({ environment: { sample: toJson(TaskSampleSchema, d.samples[0]!) } });
const result = await runConformance({ profile: "environment", target: { url: server.url, headers: {} }, file, patterns: process.argv.slice(2) });
for (const c of result.checks) if (!["not-applicable", "needs-input", "not-testable", "pass"].includes(c.verdict)) console.log(c.verdict, c.check, c.stack, c.subject, "| expected", c.expected, "| got", c.actual.slice(0, 300), c.reason.slice(0, 300)); console.log(result.verdict, result.took, JSON.stringify(result.counts)); process.exit(0);
