import { parseArgs } from "node:util";
import { episodeParts, serveEpisodes, urlsOfEnvironment } from "./episodes.js";
import { referenceParts, serveAsSubject, serveParts } from "./parts.js";
import { variantOf } from "./variants.js";

/** Serves the reference world (`--variant NAME`), or episodes over the parts that the runner plays: `--service`, `--port N`. */
async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      service: { type: "string", default: "environment" },
      variant: { type: "string", default: "full" },
      port: { type: "string", default: "0" },
    },
  });
  const port = Number(values.port);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new Error(`--port: expected 0 to 65535, found ${values.port}`);
  }
  switch (values.service) {
    case "environment":
      return await serveAsSubject(await serveParts(referenceParts(variantOf(values.variant)), { port }));
    case "episode":
      return await serveAsSubject(
        await serveEpisodes(episodeParts(urlsOfEnvironment(process.env)), { port }),
      );
    default:
      throw new Error(`--service: expected environment or episode, found ${values.service}`);
  }
}

try {
  await main();
  process.exit(0);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(2);
}
