import { clone, create } from "@bufbuild/protobuf";
import {
  type FailureKind,
  type Item,
  ItemSchema,
  type Observation,
  ObservationSchema,
} from "../../gen/index.js";
import { userMessage } from "../runtime/items.js";
import { agentStartShape } from "./answer-shapes.js";
import { checkAuthorAnswer } from "./author-answer.js";
import { authorFault } from "./author-fault.js";
import type { AgentStart, AgentStarts } from "./definition/beginning.js";
import type { PreparedEnvironment } from "./prepared-environment.js";
import type { PreparedTool } from "./tool/prepared-tool.js";

/** What one agent begins with. */
export interface ReadStart<State> {
  readonly agentId: string;
  /** What it is told; undefined: the task's own input. */
  readonly input: readonly Item[] | undefined;
  readonly observation: Observation | undefined;
  readonly tools: ReadonlyMap<string, PreparedTool<State>>;
}

/** What an author gave to begin a session or a stage with, for every agent. */
export interface ReadStarts<State> {
  readonly agents: readonly ReadStart<State>[];
  readonly next: readonly string[];
}

/**
 * Reads what an author begins a session or a stage with. One agent is the case in which what is its own stands beside
 * `agents`. Throws a failure of `kind` where an agent or a tool is named that there is not.
 */
export function readStarts<State>(
  prepared: PreparedEnvironment<State>,
  starts: AgentStarts,
  kind: FailureKind,
): ReadStarts<State> {
  const { agentIds, hasSteps, turnRules } = prepared;
  const named = namedStarts(starts, agentIds, kind);
  const next = starts.next ?? (turnRules.simultaneous ? agentIds : agentIds.slice(0, 1));
  checkAgents(next, agentIds, { what: "next", kind });
  // ENV-SEED-027
  if (hasSteps && next.length === 0) {
    throw authorFault(kind, "next names nobody: name who acts first, or leave it out");
  }
  return {
    agents: agentIds.map((agentId) => {
      const start = named.get(agentId);
      return {
        agentId,
        input: start === undefined ? [] : inputOf(start),
        observation:
          start?.observation === undefined
            ? undefined
            : clone(ObservationSchema, create(ObservationSchema, start.observation)),
        tools: toolsOf(prepared, agentId, { names: start?.tools, kind }),
      };
    }),
    next: hasSteps ? [...new Set(next)] : [],
  };
}

/** Throws a failure where a list names an agent that there is not. */
export function checkAgents(
  named: readonly string[],
  agentIds: readonly string[],
  { what, kind }: { readonly what: string; readonly kind: FailureKind },
): void {
  const unknown = named.find((agentId) => !agentIds.includes(agentId));
  if (unknown === undefined) return;
  throw authorFault(kind, `${what} names the agent "${unknown}"; there are ${agentIds.join(", ")}`);
}

function namedStarts(
  starts: AgentStarts,
  agentIds: readonly string[],
  kind: FailureKind,
): ReadonlyMap<string, AgentStart> {
  const { agents = {}, input, observation, tools } = starts;
  checkAgents(Object.keys(agents), agentIds, { what: "agents", kind });
  for (const [agentId, start] of Object.entries(agents))
    checkAuthorAnswer(start, agentStartShape, { by: `agents.${agentId}`, kind });
  const [first = "", ...more] = agentIds;
  if (more.length === 0) return new Map([[first, { ...starts, ...agents[first] }]]);
  if (input !== undefined || observation !== undefined || tools !== undefined) {
    throw authorFault(
      kind,
      "input, observation or tools stand beside `agents`: with several agents give each its own",
    );
  }
  return new Map(Object.entries(agents));
}

function inputOf({ input }: AgentStart): readonly Item[] | undefined {
  return typeof input === "string" ? [userMessage(input)] : input?.map((item) => clone(ItemSchema, item));
}

function toolsOf<State>(
  { tools }: PreparedEnvironment<State>,
  agentId: string,
  { names, kind }: { readonly names: readonly string[] | undefined; readonly kind: FailureKind },
): ReadonlyMap<string, PreparedTool<State>> {
  const own = [...tools].filter(([, { agents }]) => agents === undefined || agents.includes(agentId));
  if (names === undefined) return new Map(own);
  const unknown = names.find((name) => !own.some(([known]) => known === name));
  if (unknown !== undefined) {
    const known = own.map(([name]) => name).join(", ") || "none";
    throw authorFault(kind, `tools names "${unknown}", which agent ${agentId} has not; it has: ${known}`);
  }
  return new Map(own.filter(([name]) => names.includes(name)));
}
