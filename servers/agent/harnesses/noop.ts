import { z } from "zod";
import { StopReason } from "../../../gen/index.js";
import { defineAgent } from "../define-agent.js";

/** Says and does nothing: the floor of any environment. */
export const noop = defineAgent({
  name: "noop",
  version: "1.0.0",
  needsModel: false,
  options: z.strictObject({}),
  activate: async () => ({ stopReason: StopReason.DONE }),
});
