import { create } from "@bufbuild/protobuf";
import { z } from "zod";
import { Feature, StopReason, ToolListSchema } from "../../../gen/index.js";
import { defineDriver, type OpenAgent, type TurnEnded } from "../define-driver.js";
import { firstInput } from "../first-input.js";
import { soleView } from "../session-shape.js";

const options = z.strictObject({
  turn_sessions: z
    .enum(["stage", "continue"])
    .default("stage")
    .describe(
      "stage: the agent has a new session for each stage, closed before the stage is verified. continue: one for all, which goes on with what it knows (feature CONTINUATION).",
    ),
});

/**
 * One agent, and a task in stages: a turn in each, whose verdict is due before the next begins, until the environment
 * says that the episode is over (EPI-DRV-003, EPI-DRV-007 to EPI-DRV-009). A task of one piece is a single stage.
 */
export const stages = defineDriver<z.output<typeof options>>({
  name: "stages",
  agents: 1,
  needs: [Feature.STAGES],
  agentNeeds: ({ turn_sessions: sessions }) => (sessions === "continue" ? [Feature.CONTINUATION] : []),
  options,
  async run(episode, { turn_sessions: sessions }) {
    const session = await episode.seed();
    const last = Math.max(session.stages.length, 1) - 1;
    let view = soleView(session);
    let agent: OpenAgent | undefined;
    for (let stage = 0; ; stage += 1) {
      // A session that goes on is told the stage's tools; a new one is opened with them.
      const tools = agent === undefined ? {} : { tools: create(ToolListSchema, { tools: view.tools }) };
      agent ??= await episode.openAgent(view);
      const turn = await agent.activate(firstInput(view), tools);
      if (sessions === "stage") {
        await agent.close();
        agent = undefined;
      }
      if (stage >= last || isLast(turn)) break;
      const { episodeOver } = await episode.verifyStage();
      if (episodeOver) break;
      view = soleView(await episode.advance());
    }
    await agent?.close();
    return await episode.verify();
  },
});

/** Stop, or the agent's failure, ends the episode's turns; a budget, or the world, only those of the stage. */
function isLast({ stopReason }: TurnEnded): boolean {
  return stopReason === undefined || stopReason === StopReason.INTERRUPTED;
}
