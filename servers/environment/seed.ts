import { createHash } from "node:crypto";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import {
  type AgentRequirements,
  FailureKind,
  Feature,
  type Item,
  Placement,
  type SeedRequest,
  SeedRequestSchema,
  type SeedResponse,
  SeedResponseSchema,
  SessionDescriptorSchema,
  type Task,
  TaskSchema,
  type ToolAccessSchema,
  VerifyIsolation,
} from "../../gen/index.js";
import { checkAnswerSize } from "../runtime/answer-size.js";
import { clamp, fromMs } from "../runtime/duration.js";
import { fingerprint } from "../runtime/fingerprint.js";
import { userMessage } from "../runtime/items.js";
import type { Delivered } from "../runtime/ledger.js";
import { type FieldViolation, invalidField, Refusal, unknownName, unsupported } from "../runtime/refusal.js";
import type { Runtime } from "../runtime/runtime.js";
import type { Sessions } from "../runtime/sessions.js";
import { declarationsOf, featuresOf } from "./declarations.js";
import type { EnvironmentDefinition, Started } from "./define-environment.js";
import { type EnvironmentSession, soleAgent } from "./environment-session.js";
import { BadTask, taskSource } from "./task-source.js";
import { describeTool } from "./tool.js";

/** Bound of a step that asks for none. */
const defaultStepTimeoutMs = 60_000;

/** What Seed works with. */
export interface SeedContext<Data, State> {
  readonly runtime: Runtime;
  readonly definition: EnvironmentDefinition<Data, State>;
  readonly sessions: Sessions<EnvironmentSession<Data, State>>;
}

/** Starts a session, or finds the operation that did. */
export function seed<Data, State>(
  { runtime, definition, sessions }: SeedContext<Data, State>,
  request: SeedRequest,
): Delivered<SeedResponse> {
  if (request.source.case !== "task") throw unsupported("TASK_LISTING", "Seed by task_id");
  const task = request.source.value;
  if (request.context === undefined) throw invalidField("context", "is required");
  let data: Data;
  return sessions.create<SeedResponse>({
    id: request.sessionId,
    context: request.context,
    kind: "Seed",
    fingerprint: fingerprint(SeedRequestSchema, request),
    lease: request.lease,
    timeout: request.timeout,
    check() {
      checkRequirements(task, request.agentRequirements);
      if (request.sandboxProvider !== "") throw unknownName("sandbox_provider", request.sandboxProvider, []);
      data = readTask(definition, task);
    },
    async make(execution, facts) {
      const started = await definition.seed({ data, seed: request.seed, signal: execution.signal });
      const names = started.tools ?? Object.keys(definition.tools ?? {});
      const tools = new Map(Object.entries(definition.tools ?? {}).filter(([name]) => names.includes(name)));
      const declarations = declarationsOf(definition);
      // The descriptor has each agent's own list in its place.
      declarations.tools = [];
      const hasSteps = featuresOf(definition).includes(Feature.STEP);
      const digest = taskDigest(task);
      const inUse = started.seed ?? request.seed;
      const descriptor = create(SessionDescriptorSchema, {
        sessionId: request.sessionId,
        ...(request.context === undefined ? {} : { context: request.context }),
        task: {
          ...(task.taskId === undefined ? {} : { taskId: task.taskId }),
          environment: task.environment,
          split: task.split,
          revision: task.revision,
          digest,
        },
        publicJson: task.publicJson,
        ...(inUse === undefined ? {} : { seed: inUse }),
        agents: [
          {
            agentId: soleAgent,
            input: inputOf(task, started),
            ...(started.observation === undefined ? {} : { observation: started.observation }),
            tools: [...tools].map(([name, tool]) => describeTool(name, tool)),
            toolAccesses:
              tools.size === 0
                ? []
                : [stepAccess(runtime, request.sessionId, definition.toolsRequired ?? true)],
          },
        ],
        nextAgents: hasSteps ? [soleAgent] : [],
        declarations,
        ...(task.limits === undefined ? {} : { limits: task.limits }),
        verifyIsolation: VerifyIsolation.NONE_NEEDED,
        placement: Placement.NONE,
        lease: facts.lease,
        ...(hasSteps ? { stepTimeout: fromMs(definition.stepTimeoutMs ?? defaultStepTimeoutMs) } : {}),
      });
      const reference = request.wantReference
        ? (task.reference ?? definition.reference?.(data, started.state))
        : undefined;
      const answer = create(SeedResponseSchema, {
        answerId: facts.answerId,
        session: descriptor,
        ...(reference === undefined ? {} : { reference }),
        timeout: fromMs(facts.timeoutMs),
      });
      checkAnswerSize(SeedResponseSchema, answer, {
        limit: runtime.limits.maxMessageBytes,
        kind: FailureKind.SEED_FAILED,
      });
      return {
        state: {
          world: { data, state: started.state, descriptor, tools },
          taskDigest: digest,
          maxSteps: task.limits?.maxSteps,
          verifyTimeoutMs: clamp(task.limits?.verifyTimeout, runtime.limits.timeout),
          ended: false,
          fenced: false,
          verified: false,
          submitted: undefined,
          sequence: 0n,
          stepRewards: 0,
          recentSteps: [],
        },
        answer,
      };
    },
  });
}

/** The way to a session's tools by Step of this server. */
function stepAccess(
  runtime: Runtime,
  sessionId: string,
  required: boolean,
): MessageInitShape<typeof ToolAccessSchema> {
  return {
    name: "step",
    required,
    way: { case: "step", value: { endpoint: { url: runtime.url }, sessionId, agentId: soleAgent } },
  };
}

/** Digest over the whole task, privileged parts included; only controllers see it (ENV-SEED-026). */
function taskDigest(task: Task): string {
  const canonical = fingerprint(TaskSchema, task);
  return `sha256:${createHash("sha256").update(canonical).digest("hex")}`;
}

function inputOf<State>(task: Task, started: Started<State>): Item[] {
  if (started.input === undefined) return task.input;
  return typeof started.input === "string" ? [userMessage(started.input)] : [...started.input];
}

/** Reads a task. Throws the refusal of one that is for another environment or malformed (ENV-SEED-003, ENV-SEED-004). */
export function readTask<Data, State>(definition: EnvironmentDefinition<Data, State>, task: Task): Data {
  checkTask(definition, task);
  try {
    return definition.read(taskSource(task));
  } catch (error) {
    throw error instanceof BadTask ? error.refusal() : error;
  }
}

function checkTask<Data, State>(definition: EnvironmentDefinition<Data, State>, task: Task): void {
  // ENV-SEED-003
  if (task.environment !== definition.name) {
    const description = `the task is for environment "${task.environment}"; this is "${definition.name}"`;
    throw new Refusal("WRONG_ENVIRONMENT", description, {
      violations: [{ field: "task.environment", description }],
    });
  }
  const known = definition.rowSchemas ?? [];
  if (task.row !== undefined && !known.includes(task.row.rowSchema)) {
    throw invalidField(
      "task.row.row_schema",
      `"${task.row.rowSchema}" is not read here; known: ${known.length === 0 ? "none" : known.join(", ")}`,
    );
  }
}

/** A world without a box meets no requirement on one; each is named (ENV-REQ-001, -002, -005, -006). */
function checkRequirements(task: Task, ofAgents: readonly AgentRequirements[]): void {
  const unmet: FieldViolation[] = [];
  const need = (field: string, needed: boolean, what: string): void => {
    if (needed) unmet.push({ field, description: `${what}, and this environment makes no sandbox` });
  };
  const { requirements } = task;
  if (requirements !== undefined) {
    const { placement } = requirements;
    need(
      "task.requirements.placement",
      placement !== Placement.UNSPECIFIED && placement !== Placement.NONE,
      `placement ${Placement[placement] ?? placement} is required`,
    );
    need("task.requirements.image", requirements.image !== "", "an image is required");
    need("task.requirements.resources", requirements.resources !== undefined, "resources are required");
    need("task.requirements.network", requirements.network !== undefined, "a network is required");
    if (requirements.agents.some((agent) => agent !== soleAgent)) {
      unmet.push({
        field: "task.requirements.agents",
        description: `agents ${requirements.agents.join(", ")} are required; here there is one, "${soleAgent}"`,
      });
    }
  }
  ofAgents.forEach(({ agentId, requirements: needs }, i) => {
    const field = `agent_requirements[${i}]`;
    if (agentId !== soleAgent) {
      unmet.push({
        field: `${field}.agent_id`,
        description: `there is no agent "${agentId}"; there is "${soleAgent}"`,
      });
    }
    need(`${field}.requirements`, needs !== undefined, "the agent needs a sandbox");
  });
  if (unmet.length > 0) {
    const text = unmet.map(({ field, description }) => `${field}: ${description}`).join("; ");
    throw new Refusal("UNSATISFIED_REQUIREMENT", text, { violations: unmet });
  }
}
