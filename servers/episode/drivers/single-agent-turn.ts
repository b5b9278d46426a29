import { FailureKind, Retry, Stage } from "../../../gen/index.js";
import { OperationFailure } from "../../runtime/failure.js";
import { defineDriver } from "../define-driver.js";
import { firstInput } from "../first-input.js";

/** One agent, one turn, one verdict (EPI-DRV-006). */
export const singleAgentTurn = defineDriver({
  name: "single_agent_turn",
  agents: 1,
  async run(episode) {
    const { agents } = await episode.seed();
    const [view] = agents;
    if (view === undefined || agents.length > 1) {
      throw new OperationFailure({
        kind: FailureKind.PROTOCOL_VIOLATION,
        stage: Stage.SEED,
        retry: Retry.NEVER,
        reason: `expected a session with one agent, found ${agents.length}; tasks of several need another driver`,
      });
    }
    const agent = await episode.openAgent(view);
    await agent.activate(firstInput(view));
    await agent.close();
    return await episode.verify();
  },
});
