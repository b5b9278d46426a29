import { defineDriver } from "../define-driver.js";

/** One agent, one turn, one verdict (EPI-DRV-006). */
export const singleAgentTurn = defineDriver({
  name: "single_agent_turn",
  async run(episode) {
    const session = await episode.seed();
    const [view] = session.agents;
    if (view === undefined) throw new Error("a session without an agent");
    const agent = await episode.openAgent(view);
    await agent.activate(view.input);
    await agent.close();
    return await episode.verify();
  },
});
