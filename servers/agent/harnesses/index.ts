import type { AgentDefinition } from "../define-agent.js";
import { noop } from "./noop.js";
import { oracle } from "./oracle.js";
import { random } from "./random.js";
import { toolLoop } from "./tool-loop.js";

/** Our agents, by the name that a configuration gives them. */
export const agents: Readonly<Record<string, AgentDefinition<never>>> = {
  noop: noop as AgentDefinition<never>,
  oracle: oracle as AgentDefinition<never>,
  random: random as AgentDefinition<never>,
  "tool-loop": toolLoop as AgentDefinition<never>,
};
