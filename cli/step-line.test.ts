import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { StepRecordSchema, TaskSchema } from "../gen/index.js";
import type { TakenStep } from "../rollouts/run-attempt.js";
import { temporaryFolder } from "../test/temporary-folder.js";
import { touchstone } from "./fixtures/touchstone.js";
import { stepLine } from "./step-line.js";

const step: TakenStep = {
  episode: {
    index: 0,
    rolloutId: "run1.n1.r2",
    groupId: "run1.n1",
    repeat: 2,
    task: create(TaskSchema, { taskId: { id: "n1\u001b[2J" } }),
    place: "t.jsonl:1",
  },
  attempt: 1,
  record: create(StepRecordSchema, {
    response: {
      stepIndex: 3,
      outcomes: [{ agentId: "left", reward: { value: 0 } }, { agentId: "right" }],
      terminated: true,
    },
  }),
};

it("tells people a step and what each agent earned; what is absent is not 0", () => {
  expect(stepLine("oracle", step, true)).toBe("oracle  n1\\u001b[2J r2 a1  step 3  left 0  right -  ended");
});

it("tells programs the same as JSON", () => {
  expect(JSON.parse(stepLine("oracle", step, false))).toEqual({
    run: "oracle",
    rollout_id: "run1.n1.r2",
    task: "n1\u001b[2J",
    repeat: 2,
    attempt: 1,
    step: 3,
    rewards: { left: 0 },
    terminated: true,
    truncated: false,
  });
});

it("run --steps tells every step with its reward as it is taken", async () => {
  const folder = temporaryFolder({
    "c.yaml": `
servers:
  lake: { environment: gridworld }
  oracle: { agent: oracle }
  episodes: { episode: single_agent_turn }
run:
  driver: episodes
  environment: lake
  agents: { agent: oracle }
  tasks: { split: test }
`,
  });
  const ended = await touchstone([
    ...["run", join(folder, "c.yaml"), "--out", join(folder, "out"), "--steps"],
  ]);
  expect(ended.code).toBe(0);
  const lines = ended.stderr
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { rollout_id: string; step: number; rewards: { agent: number } });
  const rollouts = [...new Set(lines.map(({ rollout_id: id }) => id))];
  expect(rollouts.length).toBeGreaterThan(1);
  for (const rollout of rollouts) {
    const steps = lines.filter(({ rollout_id: id }) => id === rollout);
    expect(steps.map(({ step }) => step)).toEqual(steps.map((_, i) => i));
    // The oracle finds the goal, which is worth 1 in all.
    expect(steps.reduce((sum, { rewards }) => sum + rewards.agent, 0)).toBeCloseTo(1);
  }
  const quiet = await touchstone(["run", join(folder, "c.yaml"), "--out", join(folder, "quiet")]);
  expect(quiet.stderr).toBe("");
});
