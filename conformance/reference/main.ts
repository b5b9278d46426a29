import { parseArgs } from "node:util";
import { referenceParts, serveAsSubject } from "./parts.js";
import { variantOf } from "./variants.js";

/** Serves the reference world: `--variant NAME`, `--port N`. */
async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      variant: { type: "string", default: "full" },
      port: { type: "string", default: "0" },
    },
  });
  const port = Number(values.port);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new Error(`--port: expected 0 to 65535, found ${values.port}`);
  }
  await serveAsSubject(referenceParts(variantOf(values.variant)), { port });
}

try {
  await main();
  process.exit(0);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(2);
}
