import { createHash } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { type BadRequest, BadRequestSchema } from "../../gen/google/rpc/error_details_pb.js";
import { type Task, type TaskLimits, TaskSchema } from "../../gen/index.js";
import type { State } from "../reference/state.js";
import { publicSchema } from "../reference/task.js";
import { referenceSample } from "../reference/tasks.js";
import { toolsOfStage } from "../reference/tools.js";
import { currentCall, inDescriptors, inErrors, inRequests, sessionOf, tellingCalls } from "./calls.js";
import { leaksPlace } from "./close.js";
import { reasonOf, withDetails } from "./errors-told.js";
import { newName } from "./invented.js";
import type { Build, Mutant } from "./mutant.js";
import { inWorld, together } from "./seams.js";
import { callerOf } from "./state.js";

const sampleTask = (): Task => create(TaskSchema, referenceSample(true).task ?? {});

/** Changes the task of every Seed that brings one. */
const inTasks = (change: (task: Task) => unknown): Build =>
  inRequests("seed", ({ source }) => (source.case === "task" ? change(source.value) : undefined));

const oneStateForAll = (): Build => {
  const shared = new Map<string, State>();
  return together(
    inWorld(({ seed }) => ({
      async seed(start) {
        const started = await seed(start);
        const caller = callerOf(sessionOf(currentCall()?.request ?? ({} as never)));
        const state = shared.get(caller) ?? started.state;
        shared.set(caller, state);
        return { ...started, state };
      },
    })),
    tellingCalls,
  );
};

const limitsUnenforced = (): Build => {
  const asked = new Map<string, TaskLimits>();
  return together(
    inRequests("seed", ({ sessionId, source }) => {
      if (source.case !== "task" || source.value.limits?.maxSteps === undefined) return;
      asked.set(sessionId, source.value.limits);
      source.value.limits = undefined;
    }),
    inDescriptors((descriptor) => {
      const limits = asked.get(descriptor.sessionId);
      if (limits !== undefined) descriptor.limits = limits;
    }),
  );
};

const isObjectText = (text: string): boolean => {
  try {
    return publicSchema.safeParse(JSON.parse(text)).success;
  } catch {
    return false;
  }
};

/** Seed: what begins, and what its answer says. */
export const seedMutants: readonly Mutant[] = [
  {
    name: "wrong-task-id",
    clause: "ENV-SEED-001",
    what: "tells another task's id",
    build: inDescriptors(({ task }) => {
      if (task?.taskId !== undefined) task.taskId.id = "other";
    }),
  },
  {
    name: "default-task-invented",
    clause: "ENV-SEED-002",
    what: "begins a task of its own where the id is unknown",
    build: inRequests("seed", (request) => {
      const { source } = request;
      const known = ["zero", "one", "two", "three", "four", "five", "six"];
      if (source.case === "taskId" && !known.includes(source.value.id)) source.value.id = "three";
    }),
  },
  {
    name: "wrong-environment-served",
    clause: "ENV-SEED-003",
    what: "begins another environment's task",
    build: inTasks((task) => {
      if (task.environment !== "") task.environment = "touchstone-reference";
    }),
  },
  {
    name: "broken-task-defaulted",
    clause: "ENV-SEED-004",
    what: "begins the usual task where it cannot read the one given",
    build: inTasks((task) => {
      if (!isObjectText(task.publicJson)) task.publicJson = "{}";
    }),
  },
  {
    name: "missing-source-ok",
    clause: "ENV-SEED-005",
    what: "begins a task of its own where none is given",
    build: inRequests("seed", (request) => {
      if (request.source.case === undefined) request.source = { case: "task", value: sampleTask() };
    }),
  },
  {
    name: "seed-not-used",
    clause: "ENV-SEED-006",
    what: "shows something else in each session",
    build: inWorld(({ tools = {} }) => ({
      tools: Object.fromEntries(
        Object.entries(tools).map(([name, tool]) => [
          name,
          {
            ...tool,
            async run(args, context) {
              const result = await tool.run(args, context);
              if (typeof result === "string" || !("content" in result)) return result;
              return { ...result, content: `${String(result.content)} ${newName("draw")}` };
            },
          },
        ]),
      ),
    })),
  },
  {
    name: "one-world-for-all",
    clause: "ENV-SEED-007",
    what: "begins the same world whatever the seed",
    build: inWorld(({ seed }) => ({ seed: (start) => seed({ ...start, seed: 0n }) })),
  },
  {
    name: "shared-world",
    clause: "ENV-SEED-008",
    what: "has one world for all sessions of a caller",
    build: oneStateForAll(),
  },
  {
    name: "failed-seed-leaks",
    clause: "ENV-SEED-010",
    what: "keeps the place of a session that could not be made",
    variant: "capacity",
    build: leaksPlace(({ rpc, failed }) => rpc === "seed" && failed),
  },
  {
    name: "tool-name-twice",
    clause: "ENV-SEED-011",
    what: "gives an agent two tools of one name",
    build: inDescriptors(({ agents }) => {
      for (const { tools } of agents) tools.push(...tools.slice(0, 1));
    }),
  },
  {
    name: "tools-from-class",
    clause: "ENV-SEED-012",
    what: "runs tools that a task does not list",
    build: together(
      inWorld(({ seed }) => ({
        async seed(start) {
          const started = await seed(start);
          return { ...started, tools: [...toolsOfStage(0), "twice"] };
        },
      })),
      inDescriptors(({ agents, task }) => {
        if (task?.taskId?.id === "other") return;
        for (const agent of agents) agent.tools = agent.tools.filter(({ name }) => name !== "twice");
      }),
    ),
  },
  {
    name: "state-1MiB",
    clause: "ENV-SEED-016",
    what: "gives verifier_state of a mebibyte",
    build: inDescriptors((descriptor) => {
      descriptor.verifierState = new Uint8Array(1 << 20);
    }),
  },
  {
    name: "agent-named-default",
    clause: "ENV-SEED-019",
    what: "names its only agent otherwise",
    build: inDescriptors(({ agents }) => {
      for (const agent of agents) agent.agentId = "default";
    }),
  },
  {
    name: "state-plain",
    clause: "ENV-SEED-021",
    what: "gives verifier_state that anybody can read",
    build: inDescriptors((descriptor) => {
      descriptor.verifierState = new TextEncoder().encode('{"answer":"canary-41"}');
    }),
  },
  {
    name: "provider-defaulted",
    clause: "ENV-SEED-025",
    what: "takes its own provider where the one asked for is unknown",
    build: inRequests("seed", (request) => {
      request.sandboxProvider = "";
    }),
  },
  {
    name: "digest-of-id",
    clause: "ENV-SEED-026",
    what: "digests the id of a task alone",
    build: inDescriptors(({ task }) => {
      if (task !== undefined)
        task.digest = `sha256:${createHash("sha256")
          .update(task.taskId?.id ?? "")
          .digest("hex")}`;
    }),
  },
  {
    name: "next-agents-empty",
    clause: "ENV-SEED-027",
    what: "does not say who acts first",
    build: inDescriptors((descriptor) => {
      descriptor.nextAgents = [];
    }),
  },
  {
    name: "by-id-invents-task",
    clause: "ENV-SEED-028",
    what: "begins a task of its own where an id is given that it cannot know",
    variant: "core",
    build: inRequests("seed", (request) => {
      if (request.source.case === "taskId") request.source = { case: "task", value: sampleTask() };
    }),
  },
  {
    name: "limit-not-enforced",
    clause: "ENV-SEED-029",
    what: "tells the task's limit of steps and does not keep it",
    build: limitsUnenforced(),
  },
  {
    name: "requirement-ignored",
    clause: "ENV-REQ-001",
    what: "ignores what agents require",
    build: inRequests("seed", (request) => {
      request.agentRequirements = [];
    }),
  },
  {
    name: "first-unmet-only",
    clause: "ENV-REQ-002",
    what: "names the first requirement alone that it cannot meet",
    build: inErrors((error) =>
      reasonOf(error) === "UNSATISFIED_REQUIREMENT"
        ? withDetails<BadRequest>(error, BadRequestSchema, (details) => {
            details.fieldViolations.length = 1;
            return details;
          })
        : undefined,
    ),
  },
  {
    name: "none-accepts-mounts",
    clause: "ENV-REQ-005",
    what: "takes requirements on a box where it makes none",
    build: inRequests("seed", ({ agentRequirements }) => {
      for (const one of agentRequirements) one.requirements = undefined;
    }),
  },
  {
    name: "task-requirement-ignored",
    clause: "ENV-REQ-006",
    what: "ignores what the task requires",
    build: inTasks((task) => {
      task.requirements = undefined;
    }),
  },
];
