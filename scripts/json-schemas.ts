// Writes the JSON Schemas that are published with the package: config.schema.json, by which editors complete configurations, and
// conformance/result.schema.json, of what `conformance run --json` writes. With --check it only compares.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { runResultSchema } from "../conformance/runner/result.js";
import { runSchema } from "../servers/composition/run-schema.js";
import { serverKinds } from "../servers/composition/server-schema.js";
import { telemetrySchema } from "../servers/composition/telemetry-schema.js";

const configuration = z.toJSONSchema(
  z.strictObject({
    servers: z.record(z.string(), z.union(Object.values(serverKinds))),
    run: runSchema.optional(),
    runs: z.record(z.string(), runSchema).optional(),
    telemetry: telemetrySchema.optional(),
  }),
  { io: "input" },
);

const published: Readonly<Record<string, object>> = {
  "config.schema.json": { title: "Touchstone configuration", ...configuration },
  "conformance/result.schema.json": {
    title: "Touchstone conformance result",
    ...z.toJSONSchema(runResultSchema),
  },
};

for (const [path, schema] of Object.entries(published)) {
  const file = join(import.meta.dirname, "..", path);
  const text = `${JSON.stringify(schema, null, 2)}\n`;
  if (!process.argv.includes("--check")) writeFileSync(file, text);
  else if (readFileSync(file, { encoding: "utf8", flag: "a+" }) !== text) {
    console.error(`${path} is stale. Run npm run generate and commit what changes.`);
    process.exitCode = 1;
  }
}
