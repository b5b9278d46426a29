import { parseArgs } from "node:util";
import { referenceParts, serveAsSubject, serveParts } from "../reference/parts.js";
import { variantOf } from "../reference/variants.js";
import { buildOf } from "./job.js";

/** Serves a mutant as a subject that the suite starts: `--mutant NAME --variant NAME`. */
async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      mutant: { type: "string", default: "no-op" },
      variant: { type: "string", default: "full" },
    },
  });
  await serveAsSubject(await serveParts(buildOf(values.mutant)(referenceParts(variantOf(values.variant)))));
}

try {
  await main();
  process.exit(0);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(2);
}
