import type { DriverDefinition } from "../define-driver.js";
import { external } from "./external.js";
import { multiTurn } from "./multi-turn.js";
import { singleAgentTurn } from "./single-agent-turn.js";

/** Our drivers, by the name that a configuration gives them. */
export const drivers: Readonly<Record<string, DriverDefinition>> = {
  single_agent_turn: singleAgentTurn,
  multi_turn: multiTurn,
  external,
};
