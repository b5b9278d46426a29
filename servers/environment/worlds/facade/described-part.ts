import { environmentClient } from "../../../../clients/index.js";
import { type EnvironmentServiceDescribeResponse, Feature } from "../../../../gen/index.js";
import type { Dial } from "../../../runtime/dial.js";
import { headersOf, type PartServer } from "./part.js";

/** Milliseconds within which a part must say what it is: it should be running already. */
const describeMs = 10_000;

/** What a part says of itself. Throws an Error where it cannot be reached, or is none that a facade can be made of. */
export async function describedPart(
  which: "tools" | "verifier",
  server: PartServer,
  dial: Dial,
): Promise<EnvironmentServiceDescribeResponse> {
  const client = environmentClient(dial(server), { headers: headersOf(server) });
  let described: EnvironmentServiceDescribeResponse;
  try {
    described = await client.describe({}, { timeoutMs: describeMs });
  } catch (cause) {
    throw new Error(
      `${which}: expected a running environment server, and its Describe failed; start it first`,
      {
        cause,
      },
    );
  }
  const features = described.service?.features ?? [];
  if (features.includes(Feature.MULTI_AGENT)) {
    throw new Error(
      `${which}: expected an environment with one agent, found "${described.environment}" with several`,
    );
  }
  if (which === "tools" && !features.includes(Feature.TOOLS)) {
    throw new Error(`tools: expected an environment with tools, found "${described.environment}" without`);
  }
  return described;
}
