import { type AdvanceResponse, Feature, type Submission, type VerifyResult } from "../../../gen/index.js";
import type { EnvironmentFixture } from "../../fixture/environment-fixture.js";
import { duration } from "../shared/durations.js";
import { type EnvironmentTrial, environmentCheck, type OpenSession } from "./environment-trial.js";

const check = (
  init: Omit<Parameters<typeof environmentCheck>[0], "features"> & { readonly features?: readonly Feature[] },
  run: (t: EnvironmentTrial) => Promise<void>,
) => environmentCheck({ ...init, features: [Feature.STAGES, ...(init.features ?? [])] }, run);

type Stages = NonNullable<EnvironmentFixture["stages"]>;

const stagesOf = (t: EnvironmentTrial): Stages => t.must(t.fixture.stages, "environment.stages");

const open = (t: EnvironmentTrial): Promise<OpenSession> =>
  t.open({ source: { case: "task", value: stagesOf(t).task } });

/** The verdict of the stage that the session is at. */
async function verify(
  t: EnvironmentTrial,
  session: OpenSession,
  { index, submission, final = false }: { index: number; submission: Submission; final?: boolean },
): Promise<Extract<VerifyResult["outcome"], { case: "verdict" }>["value"]> {
  const { outcome } = t.result(`Verify ${index}`, await session.verify(index, { final, submission }));
  t.judge.equal(`the outcome of Verify ${index}`, outcome.case, "verdict");
  if (outcome.case !== "verdict") throw new Error("a verdict that was judged to be there is not");
  return outcome.value;
}

const work = (t: EnvironmentTrial, stage: number): Stages["works"][number] =>
  t.must(stagesOf(t).works[stage], `environment.stages.works[${stage}]`);

async function advance(
  t: EnvironmentTrial,
  session: OpenSession,
  stageIndex: number,
): Promise<AdvanceResponse> {
  const reply = await t.calls.advance({ sessionId: session.id, stageIndex });
  return t.judge.answer(`Advance to ${stageIndex}`, reply);
}

/** Opens the staged task and takes its work up to the beginning of a stage. */
async function at(
  t: EnvironmentTrial,
  stage: number,
): Promise<{ session: OpenSession; begun: AdvanceResponse | undefined }> {
  const session = await open(t);
  let begun: AdvanceResponse | undefined;
  for (let index = 0; index < stage; index += 1) {
    await verify(t, session, { index, submission: work(t, index).submission });
    begun = await advance(t, session, index + 1);
  }
  return { session, begun };
}

/** STAGES: tasks of several stages, each with a verdict. */
export const stageChecks = [
  check(
    {
      clause: "ENV-STAG-001",
      name: "listed",
      title: "the descriptor of a staged task lists its stages from 0.",
    },
    async (t) => {
      const { descriptor } = await open(t);
      t.judge.equal("the number of stages", descriptor.stages.length, stagesOf(t).works.length);
      t.judge.each("the stages", descriptor.stages, ({ stageIndex }, index) =>
        t.judge.equal(`stage_index ${index}`, stageIndex, index),
      );
    },
  ),
  check(
    {
      clause: "ENV-STAG-002",
      name: "next-stage",
      title: "Advance answers the stage begun and what every agent gets for it.",
      stacks: ["connect-node", "grpc-js"],
    },
    async (t) => {
      const { session, begun } = await at(t, 1);
      const { stages, agents } = session.descriptor;
      t.judge.equal("stage", begun?.stage, stages[1]);
      t.judge.equal(
        "the agents",
        begun?.agents.map(({ agentId }) => agentId),
        agents.map(({ agentId }) => agentId),
      );
      t.judge.each("the agents", begun?.agents ?? [], ({ agentId, input, observation }) =>
        t.judge.that(`what ${agentId} is told`, input.length > 0 || observation !== undefined, {
          expected: "an input or an observation",
          actual: "neither",
        }),
      );
      t.judge.that("timeout", begun?.timeout !== undefined, { expected: "to be set", actual: "nothing" });
      t.judge.that("answer_id", (begun?.answerId ?? "") !== "", { expected: "to be set", actual: "nothing" });
    },
  ),
  check(
    {
      clause: "ENV-STAG-003",
      name: "named",
      title: "by its index an Advance is joined, replayed, and refused other content.",
      sendsInvalid: true,
    },
    async (t) => {
      const session = await open(t);
      await verify(t, session, { index: 0, submission: work(t, 0).submission });
      const request = { sessionId: session.id, stageIndex: 1 };
      const replies = await Promise.all(Array.from({ length: 4 }, () => t.elsewhere().advance(request)));
      const [first, ...others] = replies.map((reply, index) => t.judge.answer(`Advance ${index}`, reply));
      t.judge.each("the calls at once", others, (other) => t.judge.equal("its answer", other, first));
      t.judge.equal("a later repeat", await advance(t, session, 1), first);
      const other = { ...request, timeout: duration(7_777) };
      t.judge.refused("other content", await t.calls.advance(other), {
        code: ["ALREADY_EXISTS"],
        reason: ["OPERATION_CONFLICT"],
      });
      // Done twice, the first would have left the second stage behind it.
      const verdict = await verify(t, session, { index: 1, submission: work(t, 1).submission });
      t.judge.equal("the stage verified next", verdict.stage?.stageIndex, 1);
    },
  ),
  check(
    {
      clause: "ALL-ORDER-002",
      name: "no-gap-advance",
      title: "Advance: before the stage's verdict, or past the next stage, is OUT_OF_ORDER and does nothing.",
      sendsInvalid: true,
    },
    async (t) => {
      const session = await open(t);
      const { id: sessionId } = session;
      t.judge.refused("Advance before a verdict", await t.calls.advance({ sessionId, stageIndex: 1 }));
      const verdict = await verify(t, session, { index: 0, submission: work(t, 0).submission });
      t.judge.equal("the stage verified", verdict.stage?.stageIndex, 0);
      t.judge.refused("Advance to stage 2", await t.calls.advance({ sessionId, stageIndex: 2 }));
      await advance(t, session, 1);
    },
  ),
  check(
    {
      clause: "ENV-STAG-004",
      name: "stage-verdicts",
      title: "each stage's verdict tells its stage, its stage_reward, a reward, and whether it was the last.",
    },
    async (t) => {
      const session = await open(t);
      const { works } = stagesOf(t);
      for (const [index, { submission, stage_reward }] of works.entries()) {
        const { stage, reward } = await verify(t, session, { index, submission });
        t.judge.equal("stage_index", stage?.stageIndex, index);
        t.judge.equal(`stage_reward of stage ${index}`, stage?.stageReward?.value, stage_reward);
        t.judge.that("reward", reward !== undefined, { expected: "the episode's", actual: "nothing" });
        t.judge.equal(`episode_over of stage ${index}`, stage?.episodeOver, index === works.length - 1);
        if (index < works.length - 1) await advance(t, session, index + 1);
        else t.judge.equal("the episode's reward", reward?.value, stagesOf(t).reward);
      }
    },
  ),
  check(
    {
      clause: "ENV-STAG-005",
      name: "behind-the-last",
      title: "behind the last stage Advance is refused EPISODE_ENDED.",
      sendsInvalid: true,
    },
    async (t) => {
      const { works } = stagesOf(t);
      const last = works.length - 1;
      const { session } = await at(t, last);
      await verify(t, session, { index: last, submission: work(t, last).submission });
      const request = { sessionId: session.id, stageIndex: works.length };
      t.judge.refused("Advance behind the last", await t.calls.advance(request));
    },
  ),
  check(
    {
      clause: "ENV-STAG-005",
      name: "episode-over",
      title: "after a verdict that says episode_over Advance is refused EPISODE_ENDED.",
      sendsInvalid: true,
    },
    async (t) => {
      const over = t.may(stagesOf(t).over, "environment.stages.over");
      const { session } = await at(t, over.stage);
      const verdict = await verify(t, session, { index: over.stage, submission: over.submission });
      t.judge.equal("episode_over", verdict.stage?.episodeOver, true);
      const request = { sessionId: session.id, stageIndex: over.stage + 1 };
      t.judge.refused("Advance after it", await t.calls.advance(request));
    },
  ),
  check(
    {
      clause: "ENV-STAG-006",
      name: "tools-of-the-stage",
      title: "after Advance ListTools gives the new stage's tools; a new one is known, a dropped one is not.",
      features: [Feature.TOOLS, Feature.STEP],
      sendsInvalid: true,
    },
    async (t) => {
      const { session, begun } = await at(t, 1);
      const { id: sessionId } = session;
      const [before] = session.descriptor.agents;
      const after = begun?.agents.find(({ agentId }) => agentId === before?.agentId);
      const agentId = before?.agentId ?? "";
      const { tools } = t.judge.answer("ListTools", await t.calls.listTools({ sessionId, agentId }));
      t.judge.equal("the tools listed", tools, after?.tools);
      const names = (of: typeof before): string[] => of?.tools.map(({ name }) => name) ?? [];
      const call = (name: string, index: number) =>
        t.calls.step({
          sessionId,
          name: { case: "stepIndex", value: index },
          actions: [
            {
              agentId,
              kind: { case: "toolCall", value: { callId: `c${index}`, name, argumentsJson: "{}" } },
            },
          ],
        });
      for (const name of names(before).filter((one) => !names(after).includes(one))) {
        t.judge.refused(`${name}, which the stage has not`, await call(name, 0), {
          code: ["INVALID_ARGUMENT"],
          reason: ["UNKNOWN_TOOL"],
        });
      }
      const [added] = names(after).filter((one) => !names(before).includes(one));
      if (added !== undefined) {
        const { status } = await call(added, 0);
        t.judge.differ(`the reason for ${added}, which the stage has`, status?.reason, "UNKNOWN_TOOL");
      }
    },
  ),
  check(
    {
      clause: "ENV-STAG-007",
      name: "combined",
      title: "the final verdict of the last stage is the reward of the whole.",
    },
    async (t) => {
      const last = stagesOf(t).works.length - 1;
      const { session } = await at(t, last);
      const { submission } = work(t, last);
      const { reward } = await verify(t, session, { index: last, submission, final: true });
      t.judge.equal("the reward", reward?.value, stagesOf(t).reward);
    },
  ),
];
