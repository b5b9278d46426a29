import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { ActionSchema, Feature, type StepRequest } from "../../gen/index.js";
import { ToolError } from "../../servers/index.js";
import { Refusal } from "../../servers/runtime/refusal.js";
import { around, inAnswers, inErrors, inRequests, inSteps, instead, operationName } from "./calls.js";
import { reasonOf } from "./errors-told.js";
import { inventedStep, newName } from "./invented.js";
import type { Build, Mutant } from "./mutant.js";
import { inWorld, together } from "./seams.js";

const byActionId = ({ name }: StepRequest): boolean => name.case === "actionId";

/** A tool call that changes nothing. */
export const idleAction = (agentId = "agent") =>
  create(ActionSchema, {
    agentId,
    kind: { case: "toolCall", value: { callId: "idle", name: "add", argumentsJson: '{"n":0}' } },
  });

const endsUnreplayed = (): Build => {
  const ended = new Set<string>();
  return around("step", async (call, next) => {
    const name = operationName(call) ?? "";
    if (ended.has(name)) throw new Refusal("EPISODE_ENDED", "the episode is over");
    const answer = await next();
    if (answer.terminated || answer.truncated) ended.add(name);
    return answer;
  });
};

const isNoNumber = (argumentsJson: string): boolean => {
  try {
    return typeof (JSON.parse(argumentsJson) as { n?: unknown }).n === "string";
  } catch {
    return false;
  }
};

/** Step and ListTools. */
export const stepMutants: readonly Mutant[] = [
  {
    name: "index-off-by-one",
    clause: "ENV-STEP-001",
    what: "numbers the answers of steps from 1",
    build: inSteps((step) => {
      step.stepIndex += 1;
    }),
  },
  {
    name: "reward-off-by-one",
    clause: "ENV-STEP-002",
    what: "rewards each step by one too much",
    build: inSteps(({ outcomes }) => {
      for (const { reward } of outcomes) if (reward !== undefined) reward.value += 1;
    }),
  },
  {
    name: "zero-for-absent",
    clause: "ENV-STEP-003",
    what: "leaves out a reward that is 0",
    build: together(
      inWorld(({ reward }) => ({ reward: { ...reward, timing: "step" } })),
      inSteps(({ outcomes }) => {
        for (const outcome of outcomes) if (outcome.reward?.value === 0) outcome.reward = undefined;
      }),
    ),
  },
  {
    name: "nan-step-reward",
    clause: "ENV-STEP-004",
    what: "rewards steps by what is no number",
    build: inSteps(({ outcomes }) => {
      for (const { reward } of outcomes) if (reward !== undefined) reward.value = Number.NaN;
    }),
  },
  {
    name: "truncated-as-terminated",
    clause: "ENV-STEP-005",
    what: "tells a limit's end as the world's own",
    build: inSteps((step) => {
      for (const one of [step, ...step.outcomes]) {
        if (one.truncated) Object.assign(one, { truncated: false, terminated: true });
      }
    }),
  },
  {
    name: "steps-after-end",
    clause: "ENV-STEP-006",
    what: "takes steps after the end",
    build: instead("step", (error) => reasonOf(error) === "EPISODE_ENDED", inventedStep),
  },
  {
    name: "end-not-replayed",
    clause: "ENV-STEP-007",
    what: "does not replay the step that ended the episode",
    build: endsUnreplayed(),
  },
  {
    name: "wrong-kind-is-noop",
    clause: "ENV-STEP-008",
    what: "does nothing for an action of a kind that it does not declare",
    build: instead(
      "step",
      (error, { actions }) =>
        reasonOf(error) === "INVALID_FIELD" && actions.some(({ kind }) => kind.case !== "toolCall"),
      inventedStep,
    ),
  },
  {
    name: "unknown-tool-observed",
    clause: "ENV-STEP-009",
    what: "answers the call of a tool that there is not",
    build: instead("step", (error) => reasonOf(error) === "UNKNOWN_TOOL", inventedStep),
  },
  {
    name: "bad-json-internal",
    clause: "ENV-STEP-010",
    what: "breaks over arguments that are no JSON object",
    build: inErrors((error) =>
      /arguments_json: expected the text of a JSON object/.test(error.rawMessage)
        ? new ConnectError("it broke", Code.Internal)
        : undefined,
    ),
  },
  {
    name: "schema-unchecked",
    clause: "ENV-STEP-011",
    what: "declares that it checks arguments, and does not",
    build: together(
      inWorld(() => ({ strictArguments: false })),
      inAnswers("describe", ({ service }) => service?.features.push(Feature.STRICT_ARGUMENTS)),
    ),
  },
  {
    name: "tool-failure-internal",
    clause: "ENV-STEP-013",
    what: "fails for good where a tool failed",
    build: inWorld(({ tools = {} }) => ({
      tools: Object.fromEntries(
        Object.entries(tools).map(([name, tool]) => [
          name,
          {
            ...tool,
            async run(args, context) {
              try {
                return await tool.run(args, context);
              } catch (error) {
                throw error instanceof ToolError ? new Error(error.message) : error;
              }
            },
          },
        ]),
      ),
    })),
  },
  {
    name: "runs-incomplete-call",
    clause: "ENV-STEP-014",
    what: "runs a tool call that a limit cut",
    build: inRequests("step", ({ actions }) => {
      for (const { kind } of actions) if (kind.case === "toolCall") kind.value.incomplete = false;
    }),
  },
  {
    name: "unnamed-step-runs",
    clause: "ENV-STEP-016",
    what: "takes a step without a name",
    build: inRequests("step", (request) => {
      if (request.name.case === undefined) request.name = { case: "actionId", value: newName("unnamed") };
    }),
  },
  {
    name: "action-id-unnumbered",
    clause: "ENV-STEP-017",
    what: "numbers no step that has an action_id",
    build: inAnswers("step", (step, request) => {
      if (byActionId(request)) step.stepIndex = 0;
    }),
  },
  {
    name: "action-id-re-executes",
    clause: "ENV-STEP-018",
    what: "takes a step again that is asked for again by its action_id",
    build: inRequests("step", (request) => {
      if (byActionId(request)) request.name = { case: "actionId", value: newName("again") };
    }),
  },
  {
    name: "index-raced",
    clause: "ENV-STEP-019",
    what: "gives two steps one number",
    build: inAnswers("step", (step, request) => {
      if (byActionId(request)) step.stepIndex = Math.floor(step.stepIndex / 2) * 2;
    }),
  },
  {
    name: "strict-undeclared",
    clause: "ENV-STEP-020",
    what: "does not declare that it checks arguments",
    build: inAnswers("describe", ({ service }) => {
      if (service !== undefined)
        service.features = service.features.filter((one) => one !== Feature.STRICT_ARGUMENTS);
    }),
  },
  {
    name: "outcome-unnamed",
    clause: "ENV-STEP-021",
    what: "does not say whose outcome it tells",
    build: inSteps(({ outcomes }) => {
      for (const outcome of outcomes) outcome.agentId = "";
    }),
  },
  {
    name: "unknown-agent-acts",
    clause: "ENV-STEP-022",
    what: "takes the action of an agent that there is not",
    build: inRequests("step", ({ actions }) => {
      for (const action of actions) action.agentId = "agent";
    }),
  },
  {
    name: "off-schema-crashes",
    clause: "ENV-STEP-023",
    what: "breaks over arguments off the schema",
    variant: "multi-agent",
    build: inRequests("step", ({ actions }) => {
      for (const { kind } of actions) {
        if (kind.case === "toolCall" && isNoNumber(kind.value.argumentsJson))
          throw new ConnectError("it broke", Code.Internal);
      }
    }),
  },
  {
    name: "sequence-constant",
    clause: "ENV-STEP-024",
    what: "gives all steps one sequence",
    build: inSteps((step) => {
      step.sequence = 1n;
    }),
  },
  {
    name: "list-differs",
    clause: "ENV-TOOL-001",
    what: "lists fewer tools than Seed told",
    build: inAnswers("listTools", ({ tools }) => tools.pop()),
  },
  {
    name: "list-steps",
    clause: "ENV-TOOL-002",
    what: "takes a step where it lists tools",
    build: around("listTools", async ({ request, context }, next, ask) => {
      const { sessionId } = request;
      const name = { case: "actionId" as const, value: newName("listing") };
      await ask("step", { sessionId, name, actions: [idleAction()] }, context).catch(() => undefined);
      return await next();
    }),
  },
];
