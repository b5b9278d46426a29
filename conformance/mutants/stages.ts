import { create } from "@bufbuild/protobuf";
import { AdvanceResponseSchema, ForkResponseSchema } from "../../gen/index.js";
import { toolsOfStage } from "../reference/tools.js";
import { inAnswers, inDescriptors, inRequests, instead, inVerdicts } from "./calls.js";
import { reasonOf } from "./errors-told.js";
import { newName } from "./invented.js";
import type { Build, Mutant } from "./mutant.js";
import { inWorld, together } from "./seams.js";

const forkedIndexes = (): Build => {
  const bases = new Map<string, number>();
  return together(
    inRequests("fork", ({ sessionId, expectedNextStepIndex = 0 }) =>
      bases.set(sessionId, expectedNextStepIndex),
    ),
    inRequests("step", ({ sessionId, name }) => {
      if (name.case === "stepIndex") name.value += bases.get(sessionId) ?? 0;
    }),
  );
};

const forkTokens = (): Build => {
  const tokens = new Map<string, string[]>();
  return together(
    inAnswers("seed", ({ session }) => {
      if (session !== undefined)
        tokens.set(
          session.sessionId,
          session.agents.map(({ token }) => token),
        );
    }),
    inAnswers("fork", ({ session }, { sourceSessionId }) => {
      for (const [index, agent] of (session?.agents ?? []).entries())
        agent.token = tokens.get(sourceSessionId)?.[index] ?? agent.token;
    }),
  );
};

/** STAGES and FORK. */
export const stageMutants: readonly Mutant[] = [
  {
    name: "stages-untold",
    clause: "ENV-STAG-001",
    what: "does not list the stages",
    build: inDescriptors((descriptor) => {
      descriptor.stages = [];
    }),
  },
  {
    name: "advance-empty",
    clause: "ENV-STAG-002",
    what: "tells nothing of the stage that begins",
    build: inAnswers("advance", (answer) => {
      answer.agents = [];
    }),
  },
  {
    name: "advance-twice",
    clause: "ENV-STAG-003",
    what: "begins a stage anew when it is asked for again",
    build: inAnswers("advance", (answer) => {
      answer.answerId = newName("stage");
    }),
  },
  {
    name: "stage-reward-as-total",
    clause: "ENV-STAG-004",
    what: "tells what the episode earned as what its stage did",
    build: inVerdicts(({ reward, stage }) => {
      if (reward !== undefined && stage?.stageReward !== undefined) stage.stageReward.value = reward.value;
    }),
  },
  {
    name: "advance-past-end",
    clause: "ENV-STAG-005",
    what: "begins a stage behind the last one",
    build: instead(
      "advance",
      (error) => reasonOf(error) === "EPISODE_ENDED",
      () => create(AdvanceResponseSchema, { answerId: newName("stage"), nextAgents: ["agent"] }),
    ),
  },
  {
    name: "old-tools-stay",
    clause: "ENV-STAG-006",
    what: "keeps the tools of the stage before",
    build: together(
      inWorld(({ advance }) => ({
        async advance(stage) {
          const advanced = (await advance?.(stage)) ?? {};
          return { ...advanced, tools: [...new Set([...toolsOfStage(0), ...(advanced.tools ?? [])])] };
        },
      })),
      inAnswers("advance", ({ agents }) => {
        const told = toolsOfStage(1);
        for (const agent of agents) agent.tools = agent.tools.filter(({ name }) => told.includes(name));
      }),
    ),
  },
  {
    name: "last-stage-only",
    clause: "ENV-STAG-007",
    what: "rewards the last stage alone",
    build: inVerdicts(({ reward, stage }) => {
      if (reward !== undefined && stage?.stageReward !== undefined && stage.episodeOver)
        reward.value = stage.stageReward.value;
    }),
  },
  {
    name: "fork-from-start",
    clause: "ENV-FORK-001",
    what: "begins a fork anew",
    build: inWorld(({ fork }) => ({
      fork: async (state) => ({ ...((await fork?.(state)) ?? state), count: 0 }),
    })),
  },
  {
    name: "fork-shares-state",
    clause: "ENV-FORK-002",
    what: "has one world for a fork and its source",
    build: inWorld(() => ({ fork: (state) => state })),
  },
  {
    name: "fork-index-0",
    clause: "ENV-FORK-003",
    what: "numbers the steps of a fork from 0",
    build: forkedIndexes(),
  },
  {
    name: "fork-same-token",
    clause: "ENV-FORK-004",
    what: "gives a fork the tokens of its source",
    variant: "principals",
    build: forkTokens(),
  },
  {
    name: "fork-of-closed",
    clause: "ENV-FORK-005",
    what: "forks a session that was closed",
    build: instead(
      "fork",
      (error) => reasonOf(error) === "SESSION_CLOSED",
      ({ sessionId }) => create(ForkResponseSchema, { answerId: newName("fork"), session: { sessionId } }),
    ),
  },
  {
    name: "expected-index-ignored",
    clause: "ENV-FORK-006",
    what: "forks wherever the source stands",
    build: instead(
      "fork",
      (error) => reasonOf(error) === "OUT_OF_ORDER",
      ({ sessionId }) => create(ForkResponseSchema, { answerId: newName("fork"), session: { sessionId } }),
    ),
  },
  {
    name: "sandbox-flag-constant",
    clause: "ENV-FORK-007",
    what: "says that it copied a sandbox",
    build: inAnswers("fork", (answer) => {
      answer.sandboxCopied = true;
    }),
  },
  {
    name: "fork-twice",
    clause: "ENV-FORK-008",
    what: "forks anew when it is asked for again",
    build: inAnswers("fork", (answer) => {
      answer.answerId = newName("fork");
    }),
  },
];
