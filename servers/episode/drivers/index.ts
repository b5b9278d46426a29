import type { DriverDefinition } from "../define-driver.js";
import { external } from "./external.js";
import { multiTurn } from "./multi-turn.js";
import { singleAgentTurn } from "./single-agent-turn.js";
import { stages } from "./stages.js";

/** Our drivers, by the name that a configuration gives them. */
export const drivers: Readonly<Record<string, DriverDefinition>> = {
  single_agent_turn: singleAgentTurn,
  multi_turn: multiTurn,
  stages,
  // By the contract's name, for task folders, whose environment serves each of their steps as a stage.
  harbor: { ...stages, name: "harbor" },
  external,
};
