import type { MessageInitShape } from "@bufbuild/protobuf";
import { z } from "zod";
import type { Action, SampleStepSchema } from "../../../../gen/index.js";
import {
  assistantMessage,
  defineEnvironment,
  type EnvironmentDefinition,
  type Measured,
  type StepResult,
  textOf,
  toolCallItem,
} from "../../../index.js";
import { canary, hidden } from "../hidden-data.js";
import { type NumberedTask, numberedSplit } from "../numbered-split.js";
import { sampleSteps } from "../sample-steps.js";
import { seedOf } from "../seed-of.js";
import {
  type Case,
  caseSchema,
  type Outcome,
  policiesOf,
  type Rules,
  rightful,
  rulesSchema,
} from "./case.js";
import { randomCase } from "./cases.js";
import { type Desk, tools } from "./desk.js";

/** Options of the environment: none. */
export const supportDeskOptions = z.strictObject({});

/** A task that was read. */
interface Assignment {
  readonly case: Case;
  readonly rules: Rules;
}

/** What the customer alone is told. */
function persona({ case: { customer, wants, orders }, rules }: Assignment): string {
  const item = orders.find(({ id }) => id === wants.order)?.item ?? "order";
  const wish = wants.action === "refund" ? "your money back for" : "to cancel your order of";
  return [
    `You are ${customer.name}, a customer who talks to an online shop's support. ${customer.manner}`,
    `You want ${wish} a ${item}; the order is ${wants.order}. Your postcode is ${customer.postcode}: tell it, and your name, when you are asked.`,
    `Begin with what you want. Once you were told that it is done, or that it cannot be done, say ${rules.stop_phrase} and nothing else.`,
  ].join("\n");
}

/** What the assistant alone is told. */
const duties = (rules: Rules): string =>
  `You are the support of an online shop. A customer talks to you. Your policies:\n${policiesOf(rules)}`;

const wordsOf = ({ kind }: Action): string =>
  kind.case === "items"
    ? kind.value.items
        .map((item) => (item.kind.case === "chatMessage" ? textOf(item.kind.value.content) : ""))
        .join("\n")
        .trim()
    : "";

/** Carries what one of the two said to the other, within the task's rules of when to stop. */
function converse(desk: Desk, action: Action | undefined): StepResult {
  const words = action === undefined ? "" : wordsOf(action);
  const heard = words === "" ? "(says nothing)" : words;
  if (action?.agentId === "customer") {
    desk.turns.customer += 1;
    if (words.includes(desk.rules.stop_phrase)) return { episodeTerminated: true };
    return { next: ["assistant"], outcomes: { assistant: { observation: heard } } };
  }
  desk.turns.assistant += 1;
  const cut = desk.turns.assistant >= desk.rules.max_turns;
  return { next: ["customer"], outcomes: { customer: { observation: heard } }, episodeTruncated: cut };
}

const declines = (outcome: Outcome): boolean => outcome.startsWith("declined");

/** What the assistant has done, judged by the files and the policies alone: what was said is not. */
function judge(desk: Desk): Measured {
  const outcome = rightful(desk.case, desk.rules);
  const files = desk.case.orders.every(({ id, status }) => {
    const expected = id === desk.case.wants.order && !declines(outcome) ? outcome : status;
    return desk.orders.find((order) => order.id === id)?.status === expected;
  });
  const success = files && desk.outcome === outcome && desk.broken.size === 0;
  const reward = success ? 1 : 0;
  return {
    reward,
    // The customer is no one's to score.
    agentRewards: { assistant: reward },
    success,
    components: {
      files: files ? 1 : 0,
      outcome: desk.outcome === outcome ? 1 : 0,
      policy: desk.broken.size === 0 ? 1 : 0,
    },
    metrics: { assistant_turns: desk.turns.assistant, customer_turns: desk.turns.customer },
    diagnostics: { broken: [...desk.broken], closed: desk.outcome ?? null },
  };
}

/** A task of a number. */
function generated(id: string): NumberedTask {
  const { case: made, rules } = randomCase(seedOf(`support-desk/${id}`));
  return {
    publicJson: JSON.stringify(rules),
    privileged: hidden({ ...made, canary: canary("support-desk", id) }),
    requirements: { agents: ["assistant", "customer"] },
  };
}

const revision = "1";

/**
 * A customer, played by an agent of its own, and an assistant with tools take turns until the customer has done or a
 * limit cuts them; then the files, the case's outcome and the policies are judged (MULTI_AGENT).
 */
export const supportDesk = (
  _options: z.output<typeof supportDeskOptions>,
): EnvironmentDefinition<Assignment, Desk> =>
  defineEnvironment({
    name: "support-desk",
    version: "1.0.0",
    reward: { timing: "terminal", minimum: 0, maximum: 1, components: ["files", "outcome", "policy"] },
    determinism: "seeded",
    stateless: true,
    strictArguments: true,
    agents: ["assistant", "customer"],
    publicSchema: rulesSchema,
    privilegedSchema: caseSchema,
    splits: {
      train: numberedSplit({ revision, taskset: "support-desk", name: "train", make: generated }),
      test: numberedSplit({ revision, taskset: "support-desk", name: "test", size: 40, make: generated }),
    },

    read: (task) => ({ rules: task.publicJson(rulesSchema), case: task.privilegedJson(caseSchema) }),

    seed: ({ data }) => ({
      state: {
        ...data,
        orders: data.case.orders.map((order) => ({ ...order })),
        identified: false,
        outcome: undefined,
        broken: new Set<string>(),
        turns: { assistant: 0, customer: 0 },
      },
      agents: { assistant: { input: duties(data.rules) }, customer: { input: persona(data) } },
      next: ["customer"],
    }),

    tools,

    step: ({ state, actions: [action] }) => converse(state, action),

    verify({ state, agents }) {
      const measured = judge(state);
      // Where nobody played the customer to its end, the assistant could not show what it can do.
      const { turns } = state;
      if (agents.get("customer")?.end?.failure !== undefined) {
        return { ...measured, masked: { reason: "customer_failed" } };
      }
      return turns.customer === 0 ? { ...measured, masked: { reason: "customer_silent" } } : measured;
    },

    fork: (desk) => structuredClone(desk),

    reference: ({ case: { customer, wants, orders }, rules }) => {
      const outcome = rightful({ customer, wants, orders }, rules);
      const calls: readonly (readonly [string, object])[] = [
        ["check_identity", { name: customer.name, postcode: customer.postcode }],
        ...(declines(outcome) ? [] : [[`${wants.action}_order`, { order_id: wants.order }] as const]),
        ["close_case", { outcome }],
      ];
      return {
        items: [
          ...calls.map(([name, args], i) =>
            toolCallItem({ callId: `call-${i}`, name, argumentsJson: JSON.stringify(args) }),
          ),
          assistantMessage(declines(outcome) ? "I am sorry: we cannot do that." : `It is ${outcome}.`),
        ],
      };
    },

    samples() {
      const { stop_phrase, ...rules } = {
        identity_first: true,
        refund_days: 14,
        max_turns: 4,
        stop_phrase: "BYE",
      };
      const says = (agentId: string, text: string): MessageInitShape<typeof SampleStepSchema> => ({
        actions: [{ agentId, kind: { case: "items", value: { items: [assistantMessage(text)] } } }],
      });
      const does = (calls: readonly (readonly [string, object])[]) =>
        sampleSteps(
          calls.map(([name, args]) => ({ name, args })),
          "assistant",
        );
      const talk = (calls: readonly (readonly [string, object])[]) => [
        says("customer", "I want my money back for order A-1."),
        ...does(calls),
        says("assistant", "It is done."),
        says("customer", stop_phrase),
      ];
      const order = { id: "A-1", customer: "Ana", item: "lamp", status: "delivered", days_since_delivery: 3 };
      const rest = [
        ["refund_order", { order_id: "A-1" }],
        ["close_case", { outcome: "refunded" }],
      ] as const;
      return [
        {
          task: {
            taskId: { taskset: "support-desk", id: "sample" },
            environment: "support-desk",
            publicJson: JSON.stringify({ ...rules, stop_phrase }),
            privileged: hidden({
              customer: { name: "Ana", postcode: "1010", manner: "" },
              wants: { action: "refund", order: "A-1" },
              orders: [order],
              canary: canary("support-desk", "sample"),
            }),
          },
          good: {
            steps: talk([["check_identity", { name: "Ana", postcode: "1010" }], ...rest]),
            expectedReward: { value: 1 },
          },
          bad: { steps: talk(rest), expectedReward: { value: 0 } },
        },
      ];
    },
  });
