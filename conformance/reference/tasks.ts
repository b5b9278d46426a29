import type { MessageInitShape } from "@bufbuild/protobuf";
import type { SampleWorkSchema, TaskSampleSchema, TaskSchema } from "../../gen/index.js";
import { assistantMessage, type TaskSplit } from "../../servers/index.js";

type TaskInit = MessageInitShape<typeof TaskSchema>;
type WorkInit = MessageInitShape<typeof SampleWorkSchema>;

/** Name of the world, which tasks repeat. */
export const worldName = "touchstone-reference";
const taskset = "reference";
const answer = "canary-41";
const names = ["zero", "one", "two", "three", "four", "five", "six"];

function taskOf(id: string, open: object): TaskInit {
  return {
    taskId: { taskset, id },
    environment: worldName,
    publicJson: JSON.stringify(open),
    privileged: {
      data: new TextEncoder().encode(JSON.stringify({ answer })),
      mediaType: "application/json",
    },
  };
}

/** Seven tasks, which begin at different counts. */
export const trainSplit: TaskSplit = {
  revision: "1",
  taskset,
  size: names.length,
  at: (index) => taskOf(names[index] ?? "", { target: 5, start: index % 4 === 3 ? 0 : index % 4 }),
};

const adding = (callId: string, n: number) => ({
  actions: [
    {
      agentId: "agent",
      kind: { case: "toolCall" as const, value: { callId, name: "add", argumentsJson: `{"n":${n}}` } },
    },
  ],
  expectedRewards: { agent: { value: n } },
});

const handedIn = (text: string): WorkInit["submission"] => ({
  agents: [{ agentId: "agent", items: [assistantMessage(text)] }],
});

/** The task of conformance.yaml with its two pieces of work. */
export function referenceSample(steps: boolean): MessageInitShape<typeof TaskSampleSchema> {
  return {
    task: taskOf("three", { target: 5 }),
    good: {
      steps: steps ? [adding("c1", 1), adding("c2", 4)] : [],
      submission: handedIn(answer),
      expectedReward: { value: steps ? 15 : 10 },
    },
    bad: {
      steps: steps ? [adding("c1", 0)] : [],
      submission: handedIn("wrong"),
      expectedReward: { value: 0 },
    },
  } as MessageInitShape<typeof TaskSampleSchema>;
}
