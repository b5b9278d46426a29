// A driver from outside the package, as a benchmark writes one that has an order of its own: the agent answers, is asked
// to look again, and what it then says is verified. Bounds, clean-up, leases, events and repeats are the base's.
// Try it: npx touchstone run examples/second-look.yaml --out out/second-look
import { defineDriver, firstInput, soleView, userMessage } from "touchstone/servers";
import { z } from "zod";

const options = z.strictObject({
  question: z.string().min(1).default("Look at your answer again. Is it right? Answer once more."),
  looks: z.int().min(1).default(1),
});

export default defineDriver<z.output<typeof options>>({
  name: "second_look",
  agents: 1,
  options,
  async run(episode, { question, looks }) {
    const view = soleView(await episode.seed());
    const agent = await episode.openAgent(view);
    let turn = await agent.activate(firstInput(view));
    // A turn that a budget, Stop or the world has ended is the last one.
    for (let look = 0; turn.goesOn && look < looks; look += 1) {
      turn = await agent.activate([userMessage(question)]);
    }
    await agent.close();
    return await episode.verify();
  },
});
