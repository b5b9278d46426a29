import { create } from "@bufbuild/protobuf";
import {
  type Action,
  AgentEndSchema,
  Feature,
  type SessionDescriptor,
  type StepResponse,
  StopReason,
  type Submission,
  type VerifyResult,
} from "../../../gen/index.js";
import { searchable } from "../../check/searched.js";
import { show } from "../../check/show.js";
import type { EnvironmentFixture } from "../../fixture/environment-fixture.js";
import { type EnvironmentTrial, environmentCheck, type OpenSession } from "./environment-trial.js";
import { stepOutcome } from "./known-actions.js";

type Game = NonNullable<EnvironmentFixture["multi_agent"]>;

const check = (
  init: Omit<Parameters<typeof environmentCheck>[0], "features"> & { readonly features?: readonly Feature[] },
  run: (t: EnvironmentTrial) => Promise<void>,
) =>
  environmentCheck({ ...init, features: [Feature.MULTI_AGENT, Feature.STEP, ...(init.features ?? [])] }, run);

/** A world may have several agents without a game that fits the check: simultaneous turns have a line of their own. */
const gameOf = (t: EnvironmentTrial): Game =>
  t.fixture.simultaneous === undefined
    ? t.must(t.fixture.multi_agent, "environment.multi_agent")
    : t.may(t.fixture.multi_agent, "environment.multi_agent");

const open = (t: EnvironmentTrial): Promise<OpenSession> =>
  t.open({ source: { case: "task", value: gameOf(t).task } });

/** Takes the moves of the game, each of which must be answered. */
async function play(t: EnvironmentTrial, session: OpenSession): Promise<StepResponse[]> {
  const answers: StepResponse[] = [];
  for (const [index, move] of gameOf(t).moves.entries()) {
    answers.push(t.judge.answer(`move ${index}`, await session.step(index, [move])));
  }
  return answers;
}

async function agentRewards(
  t: EnvironmentTrial,
  session: OpenSession,
  submission: Submission | undefined,
): Promise<Readonly<Record<string, number>>> {
  const asked = await session.verify(0, { final: true, submission });
  const { outcome }: VerifyResult = t.result("Verify", asked);
  t.judge.equal("the outcome of Verify", outcome.case, "verdict");
  const rewards = outcome.case === "verdict" ? outcome.value.agentRewards : {};
  return Object.fromEntries(Object.entries(rewards).map(([id, { value }]) => [id, value]));
}

const idsOf = ({ agents }: SessionDescriptor): string[] => agents.map(({ agentId }) => agentId);

/** Several agents in one session. */
export const multiAgentChecks = [
  check(
    {
      clause: "ENV-MULT-001",
      name: "own-entries",
      title: "each agent has an entry of its own: an id, what it is told, and a token unlike all others.",
      stacks: ["connect-node", "grpc-js"],
    },
    async (t) => {
      const { descriptor } = await open(t);
      const ids = idsOf(descriptor);
      t.judge.that("the agents", ids.length >= 2, { expected: "two or more", actual: ids });
      t.judge.equal("ids unlike each other", new Set(ids).size, ids.length);
      t.judge.each("the agents", descriptor.agents, (agent) => {
        const told = agent.input.length > 0 || agent.observation !== undefined || agent.tools.length > 0;
        t.judge.that(`the entry of ${agent.agentId}`, told, { expected: "not to be empty", actual: agent });
      });
      if (t.has(Feature.PRINCIPALS)) {
        const tokens = new Set(descriptor.agents.map(({ token }) => token));
        t.judge.equal("tokens unlike each other", tokens.size, ids.length);
      }
      for (const [id, text] of Object.entries(gameOf(t).own_texts ?? {})) {
        const view = descriptor.agents.find(({ agentId }) => agentId === id);
        t.judge.that(`the entry of ${id}`, searchable(view).includes(text), {
          expected: `to hold ${JSON.stringify(text)}`,
          actual: view,
        });
      }
    },
  ),
  check(
    {
      clause: "ENV-MULT-002",
      name: "whose-turn",
      title: "before each move of the script next_agents names the agent that makes it.",
    },
    async (t) => {
      const session = await open(t);
      let { nextAgents } = session.descriptor;
      for (const [index, move] of gameOf(t).moves.entries()) {
        t.judge.that(`next_agents before move ${index}`, nextAgents.includes(move.agentId), {
          expected: `to name ${move.agentId}`,
          actual: nextAgents,
        });
        const answer = t.judge.answer(`move ${index}`, await session.step(index, [move]));
        nextAgents = answer.nextAgents;
        const over = answer.terminated || answer.truncated;
        t.judge.equal(`next_agents are none after move ${index}`, nextAgents.length === 0, over);
      }
    },
  ),
  check(
    {
      clause: "ENV-MULT-003",
      name: "out-of-turn",
      title:
        "a move of an agent that is not next is refused OUT_OF_TURN; the right one goes as in a clean run.",
      sendsInvalid: true,
    },
    async (t) => {
      const { moves } = gameOf(t);
      const clean = await play(t, await open(t));
      const session = await open(t);
      let { nextAgents } = session.descriptor;
      let refused = 0;
      for (const [index, move] of moves.entries()) {
        const early: Action | undefined = moves.find(({ agentId }) => !nextAgents.includes(agentId));
        if (early !== undefined) {
          t.judge.refused(`${early.agentId} at move ${index}`, await session.step(index, [early]));
          refused += 1;
        }
        const answer = t.judge.answer(`move ${index}`, await session.step(index, [move]));
        const wanted = clean[index];
        t.judge.equal(`what move ${index} did`, stepOutcome(t, answer), wanted && stepOutcome(t, wanted));
        nextAgents = answer.nextAgents;
      }
      if (refused === 0) t.notApplicable("in this game everybody is next at every move");
    },
  ),
  check(
    {
      clause: "ENV-MULT-004",
      name: "own-rewards",
      title: "outcomes name the session's agents, and the verdict gives each its own reward.",
    },
    async (t) => {
      const session = await open(t);
      const ids = idsOf(session.descriptor);
      const answers = await play(t, session);
      for (const [index, { outcomes }] of answers.entries()) {
        t.judge.each(`the outcomes of move ${index}`, outcomes, ({ agentId }) =>
          t.judge.that("its agent_id", ids.includes(agentId), {
            expected: ids.join(" or "),
            actual: agentId,
          }),
        );
        const acted = outcomes.some(({ agentId }) => agentId === gameOf(t).moves[index]?.agentId);
        t.judge.equal(`move ${index} has an outcome of its agent`, acted, true);
      }
      const rewards = await agentRewards(t, session, gameOf(t).submission);
      t.judge.equal("agent_rewards", rewards, gameOf(t).agent_rewards);
    },
  ),
  check(
    {
      clause: "ENV-MULT-005",
      name: "all-at-once",
      title: "a step with the actions of all who are next is one step, with an outcome for each of them.",
      sendsInvalid: true,
    },
    async (t) => {
      const { task, turn } = t.may(t.fixture.simultaneous, "environment.simultaneous");
      const session = await t.open({ source: { case: "task", value: task } });
      const { nextAgents, declarations } = session.descriptor;
      const acting = turn.map(({ agentId }) => agentId);
      t.judge.equal("who is next", [...nextAgents].sort(), [...acting].sort());
      if (declarations?.simultaneousTurns === true) {
        const part = await session.step(0, turn.slice(0, 1));
        const refusal = { code: ["FAILED_PRECONDITION"], reason: ["OUT_OF_TURN"] };
        t.judge.refused("a part of the turn", part, refusal);
      }
      const answer = t.judge.answer("the turn", await session.step(0, turn));
      t.judge.equal("its step_index", answer.stepIndex, 0);
      const outcomes = answer.outcomes.map(({ agentId }) => agentId);
      t.judge.that(
        "its outcomes",
        acting.every((id) => outcomes.includes(id)),
        {
          expected: `one of each of ${acting.join(", ")}`,
          actual: outcomes,
        },
      );
    },
  ),
  check(
    {
      clause: "ENV-MULT-006",
      name: "one-ends",
      title: "one agent's end is told in its outcome alone: the session goes on with the others.",
    },
    async (t) => {
      const leaving = t.may(gameOf(t).leaving, "environment.multi_agent.leaving");
      const session = await open(t);
      const gone = leaving.at(-1)?.agentId ?? "";
      let last: StepResponse | undefined;
      for (const [index, move] of leaving.entries()) {
        last = t.judge.answer(`move ${index}`, await session.step(index, [move]));
      }
      const outcome = last?.outcomes.find(({ agentId }) => agentId === gone);
      t.judge.that(`the outcome of ${gone}`, outcome?.terminated === true || outcome?.truncated === true, {
        expected: "terminated or truncated",
        actual: outcome,
      });
      t.judge.equal("terminated of the session", last?.terminated, false);
      t.judge.equal("truncated of the session", last?.truncated, false);
      const left = idsOf(session.descriptor).filter((id) => id !== gone);
      t.judge.that("next_agents", last?.nextAgents.some((id) => left.includes(id)) === true, {
        expected: `one of ${left.join(", ")}`,
        actual: last?.nextAgents,
      });
      t.judge.equal(`next_agents names ${gone}`, last?.nextAgents.includes(gone), false);
    },
  ),
  check(
    {
      clause: "ENV-MULT-007",
      name: "own-ends",
      title: "work of each agent with an end of its own is verified as without them.",
    },
    async (t) => {
      const session = await open(t);
      await play(t, session);
      const submission = t.must(gameOf(t).submission, "environment.multi_agent.submission");
      const reasons = [StopReason.DONE, StopReason.MAX_TURNS];
      const agents = submission.agents.map((agent, index) => {
        const stopReason = reasons[index % reasons.length] ?? StopReason.DONE;
        return { ...agent, agentEnd: create(AgentEndSchema, { stopReason }) };
      });
      const rewards = await agentRewards(t, session, { ...submission, agents });
      t.judge.equal("agent_rewards", rewards, gameOf(t).agent_rewards);
    },
  ),
  check(
    {
      clause: "ENV-MULT-007",
      name: "swapped",
      title: "where two agents hand in each other's work, their rewards follow it.",
    },
    async (t) => {
      const wanted = t.may(gameOf(t).swapped_rewards, "environment.multi_agent.swapped_rewards");
      const session = await open(t);
      await play(t, session);
      const submission = t.must(gameOf(t).submission, "environment.multi_agent.submission");
      const { agents } = submission;
      const swapped = agents.map((agent, index) => ({
        ...agent,
        agentId: agents[(index + 1) % agents.length]?.agentId ?? agent.agentId,
      }));
      const rewards = await agentRewards(t, session, { ...submission, agents: swapped });
      t.judge.equal("agent_rewards", rewards, wanted);
    },
  ),
  check(
    {
      clause: "ALL-PRIV-005",
      name: "others-texts",
      title: "what one agent alone is told is in no other's view, tools or outcomes.",
    },
    async (t) => {
      const texts = Object.entries(t.may(gameOf(t).own_texts, "environment.multi_agent.own_texts"));
      const session = await open(t);
      const { agents } = session.descriptor;
      const seen = new Map<string, string>(agents.map((agent) => [agent.agentId, searchable(agent)]));
      const add = (id: string, what: unknown): void =>
        void seen.set(id, `${seen.get(id) ?? ""}${searchable(what)}`);
      for (const [index, move] of gameOf(t).moves.entries()) {
        const token = agents.find(({ agentId }) => agentId === move.agentId)?.token ?? "";
        const name = { case: "stepIndex" as const, value: index };
        const asAgent = token === "" ? {} : { headers: { authorization: `Bearer ${token}` } };
        const asked = { sessionId: session.id, name, actions: [move] };
        const answer = t.judge.answer(`move ${index}`, await t.calls.step(asked, asAgent));
        // By its own token an agent reads all of the answer; else its driver gives it its own outcome.
        for (const outcome of answer.outcomes) add(outcome.agentId, outcome);
        if (token !== "") add(move.agentId, answer);
      }
      if (t.has(Feature.TOOLS)) {
        for (const { agentId } of agents) {
          add(
            agentId,
            t.judge.answer("ListTools", await t.calls.listTools({ sessionId: session.id, agentId })),
          );
        }
      }
      for (const [owner, text] of texts) {
        for (const [id, all] of seen) {
          if (id === owner) continue;
          t.judge.that(`what ${id} saw`, !all.includes(text), {
            expected: `nothing of ${JSON.stringify(text)}, which ${owner} was told`,
            actual: show(all),
          });
        }
      }
    },
  ),
];
