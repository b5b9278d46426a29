import { z } from "zod";
import type { AgentWork, Measured, Work } from "../../servers/index.js";
import { playerIds, type State } from "./state.js";
import type { ReferenceTask } from "./task.js";
import { type Disturbance, makeTrouble, type Trouble, troubleSchema } from "./trouble.js";

const rightAnswer = 10;
/** An answer that ends a task of stages early. */
const overAnswer = "over";

/** The answer of an agent's work, or why it cannot be read. */
function readAnswer({ answer, artifacts }: AgentWork): { text: string; unappliable?: string } {
  if (answer !== "") return { text: answer };
  const artifact = artifacts.get("answer");
  if (artifact?.body.case !== "inline") return { text: "" };
  try {
    return { text: new TextDecoder("utf-8", { fatal: true }).decode(artifact.body.value) };
  } catch {
    return { text: "", unappliable: "artifact answer is no UTF-8 text" };
  }
}

/** The trouble that an answer asks for. */
function askedTrouble(text: string): Trouble | undefined {
  if (!text.startsWith("{")) return undefined;
  try {
    return z.strictObject({ trouble: troubleSchema }).parse(JSON.parse(text)).trouble;
  } catch {
    return undefined;
  }
}

/** Scores work: docs/reference-world.md, "Verification". */
export async function measure(work: Work<ReferenceTask, State>, steps: boolean): Promise<Measured> {
  return work.state.agents === "one" ? await measureOne(work, steps) : await measureAll(work);
}

async function measureOne(work: Work<ReferenceTask, State>, steps: boolean): Promise<Measured> {
  const { data, state, stageIndex } = work;
  const { text, unappliable } = readAnswer(work);
  const disturbance = await disturbed(text, work);
  const right = text === data.answer;
  const stageReward = right ? rightAnswer : 0;
  state.earned.set(stageIndex, stageReward);
  const answer = [...state.earned.values()].reduce((sum, earned) => sum + earned, 0);
  return {
    reward: disturbance.reward ?? answer + (steps ? state.count : 0),
    components: { answer },
    success: right,
    ...(data.stages === 1 ? {} : { stageReward, episodeOver: text === overAnswer }),
    ...(disturbance.masked === true ? { masked: { reason: "asked" } } : {}),
    diagnostics: { unappliable: unappliable ?? "", text: disturbance.text ?? "" },
  };
}

/** Each player has an answer of its own, and its own part of the count. */
async function measureAll(work: Work<ReferenceTask, State>): Promise<Measured> {
  const { data, agents } = work;
  const rewards: Record<string, number> = {};
  let answer = 0;
  const unread: string[] = [];
  let disturbance: Disturbance = {};
  for (const id of playerIds) {
    const own = agents.get(id);
    const { text, unappliable } = own === undefined ? { text: "" } : readAnswer(own);
    if (unappliable !== undefined) unread.push(`${id}: ${unappliable}`);
    disturbance = { ...disturbance, ...(await disturbed(text, work)) };
    const earned = text === data.answer ? rightAnswer : 0;
    answer += earned;
    rewards[id] = earned + (own?.stepRewards ?? 0);
  }
  return {
    reward: disturbance.reward ?? Object.values(rewards).reduce((sum, reward) => sum + reward, 0),
    agentRewards: rewards,
    components: { answer },
    success: answer === rightAnswer * playerIds.length,
    ...(disturbance.masked === true ? { masked: { reason: "asked" } } : {}),
    diagnostics: { unappliable: unread.join("; "), text: disturbance.text ?? "" },
  };
}

async function disturbed(text: string, work: Work<ReferenceTask, State>): Promise<Disturbance> {
  const asked = askedTrouble(text);
  return asked === undefined ? {} : await makeTrouble(asked, { memory: work.state, signal: work.signal });
}
