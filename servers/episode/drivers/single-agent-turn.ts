import { defineDriver } from "../define-driver.js";
import { noOptions } from "../driver-options.js";
import { firstInput } from "../first-input.js";
import { checkOnePiece, soleView } from "../session-shape.js";

/** One agent, one turn, one verdict (EPI-DRV-006). */
export const singleAgentTurn = defineDriver({
  name: "single_agent_turn",
  agents: 1,
  options: noOptions,
  async run(episode) {
    const session = await episode.seed();
    const view = soleView(session);
    checkOnePiece(session);
    const agent = await episode.openAgent(view);
    await agent.activate(firstInput(view));
    await agent.close();
    return await episode.verify();
  },
});
