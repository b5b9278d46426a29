import type { EpisodeClient } from "../../clients/index.js";
import { newId } from "../../servers/runtime/identity.js";
import type { LoadSession } from "../points/point.js";
import { names } from "./episode-servers.js";

/** A worker whose step is a whole episode: Run followed to its outcome, which must be a reward of 1, and Ack. */
export function episodeWorker(client: EpisodeClient): LoadSession {
  let index = 0;
  return {
    reset: async () => {},
    async step() {
      const episodeId = { rolloutId: newId("b"), attempt: 0 };
      const events = client.run({
        context: { episodeId },
        environment: names.environment,
        agents: [{ agentId: "agent", agent: names.agent }],
        source: {
          case: "task",
          value: {
            taskId: { id: String(index) },
            environment: "reasoning",
            publicJson: JSON.stringify({ kind: "arithmetic", index: index % 100 }),
          },
        },
        envSeed: BigInt(index),
        giveReference: true,
        includeItems: true,
      });
      const { outcome } = await events.result();
      if (outcome.case !== "verdict" || outcome.value.reward?.value !== 1) {
        const found = outcome.case === "failure" ? outcome.value.reason : outcome.value?.reward?.value;
        throw new Error(`expected a verdict of reward 1, found ${outcome.case}: ${found}`);
      }
      await client.ack({ episodeId });
      index += 1;
      return false;
    },
    close: async () => {},
  };
}
