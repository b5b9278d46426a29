// Writes config.schema.json, by which editors complete configurations. With --check it only compares.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { runSchema } from "../servers/composition/run-schema.js";
import { serverKinds } from "../servers/composition/server-schema.js";
import { telemetrySchema } from "../servers/composition/telemetry-schema.js";

const schema = z.toJSONSchema(
  z.strictObject({
    servers: z.record(z.string(), z.union(Object.values(serverKinds))),
    run: runSchema.optional(),
    runs: z.record(z.string(), runSchema).optional(),
    telemetry: telemetrySchema.optional(),
  }),
  { io: "input" },
);
const file = join(import.meta.dirname, "..", "config.schema.json");
const text = `${JSON.stringify({ title: "Touchstone configuration", ...schema }, null, 2)}\n`;
if (!process.argv.includes("--check")) writeFileSync(file, text);
else if (readFileSync(file, "utf8") !== text) {
  console.error("config.schema.json is stale. Run npm run generate and commit what changes.");
  process.exitCode = 1;
}
