import { create } from "@bufbuild/protobuf";
import { z } from "zod";
import {
  type AgentSessionServiceDescribeResponse,
  AgentSessionServiceDescribeResponseSchema,
  Feature,
} from "../../gen/index.js";
import { serviceInfo } from "../runtime/describe.js";
import type { Runtime } from "../runtime/runtime.js";
import { spokenDialects } from "./model-peer.js";
import { type OptionsSource, readOptions } from "./read-options.js";

/** What an agent says of itself (AGT-DESC-001). */
export function describeAgent<Options>(
  source: OptionsSource<Options> & { readonly runtime: Runtime },
): AgentSessionServiceDescribeResponse {
  const { definition, runtime } = source;
  const { name, version } = definition;
  // The server's own options; a session that is opened with others may have another bound, which its answer echoes.
  const maxBudget = definition.maxBudget?.(readOptions(source, ""));
  return create(AgentSessionServiceDescribeResponseSchema, {
    service: serviceInfo(runtime, {
      name,
      version,
      features: [
        Feature.CONTINUATION,
        Feature.INTERRUPT,
        Feature.TOOLS_BY_STEP,
        ...(definition.takesReference === true ? [Feature.REFERENCE] : []),
      ],
    }),
    harness: { name, version },
    modelDialects: definition.needsModel ? spokenDialects : [],
    optionsSchemaJson: JSON.stringify(z.toJSONSchema(definition.options, { io: "input" })),
    ...(maxBudget === undefined ? {} : { maxBudget }),
  });
}
