import { Refusal } from "../../servers/runtime/refusal.js";
import { around, inDescriptors, inRequests, inSteps, instead, inVerdicts } from "./calls.js";
import { reasonOf } from "./errors-told.js";
import { inventedStep } from "./invented.js";
import type { Mutant } from "./mutant.js";

const other = (id: string): string => (id === "a" ? "b" : "a");

/** MULTI_AGENT. */
export const playerMutants: readonly Mutant[] = (
  [
    {
      name: "one-input-for-all",
      clause: "ENV-MULT-001",
      what: "tells all agents the same",
      build: inDescriptors(({ agents }) => {
        for (const agent of agents) agent.input = [...(agents[0]?.input ?? [])];
      }),
    },
    {
      name: "round-robin-regardless",
      clause: "ENV-MULT-002",
      what: "names the other agent as the next one, whoever it is",
      build: inSteps((step) => {
        if (!step.terminated && !step.truncated) step.nextAgents = [other(step.outcomes[0]?.agentId ?? "a")];
      }),
    },
    {
      name: "out-of-turn-plays",
      clause: "ENV-MULT-003",
      what: "takes an action of an agent whose turn it is not",
      build: instead("step", (error) => reasonOf(error) === "OUT_OF_TURN", inventedStep),
    },
    {
      name: "rewards-swapped",
      clause: "ENV-MULT-004",
      what: "gives each agent the other one's reward",
      build: inVerdicts((verdict) => {
        verdict.agentRewards = Object.fromEntries(
          Object.entries(verdict.agentRewards).map(([id, reward]) => [other(id), reward]),
        );
      }),
    },
    {
      name: "simultaneous-in-turn",
      clause: "ENV-MULT-005",
      what: "takes one action a step, also where all act at once",
      variant: "simultaneous",
      build: around("step", async ({ request }, next) => {
        if (request.actions.length > 1) throw new Refusal("OUT_OF_TURN", "one after the other");
        return await next();
      }),
    },
    {
      name: "one-end-ends-all",
      clause: "ENV-MULT-006",
      what: "ends the session with the part of one agent",
      build: inSteps((step) => {
        if (step.outcomes.some(({ terminated }) => terminated))
          Object.assign(step, { terminated: true, nextAgents: [] });
      }),
    },
    {
      name: "submissions-merged",
      clause: "ENV-MULT-007",
      what: "verifies the first agent's work for all",
      build: inRequests("verify", ({ submission }) => {
        const [first, ...others] = submission?.agents ?? [];
        for (const one of others) one.items = first?.items ?? [];
      }),
    },
    {
      name: "input-of-b-to-a",
      clause: "ALL-PRIV-005",
      what: "tells an agent what another one is told",
      build: inDescriptors(({ agents }) => {
        const [a, b] = agents;
        if (a !== undefined && b !== undefined) a.input.push(...b.input);
      }),
    },
  ] as readonly Mutant[]
).map((mutant): Mutant => ({ variant: "multi-agent", ...mutant }));
