import { z } from "zod";
import { ToolError, toolsOf } from "../../../index.js";
import {
  type ActionName,
  actions,
  type Case,
  forbids,
  type Order,
  type Outcome,
  outcomes,
  type Rules,
} from "./case.js";

/** A conversation at the desk. */
export interface Desk {
  readonly case: Case;
  readonly rules: Rules;
  readonly orders: Order[];
  /** Name and postcode were checked. */
  identified: boolean;
  outcome: Outcome | undefined;
  /** Policies that were broken, each once. */
  readonly broken: Set<string>;
  /** Turns that were taken. */
  readonly turns: { assistant: number; customer: number };
}

const tool = toolsOf<Desk>();

/** Who has the tools. */
const agents = ["assistant"];

const orderId = z.strictObject({ order_id: z.string().min(1).max(40) });

/** Does something to an order: what the policies forbid is done too, and noted. */
function change({ order_id: id }: z.output<typeof orderId>, action: ActionName, desk: Desk): string {
  const order = desk.orders.find((each) => each.id === id);
  if (order === undefined) throw new ToolError(`there is no order ${id}`);
  if (desk.rules.identity_first && !desk.identified) desk.broken.add("identity_first");
  if (order.customer !== desk.case.customer.name) desk.broken.add("others_orders");
  if (forbids(desk.rules, action, order) !== undefined) desk.broken.add(action);
  order.status = actions[action];
  return `Order ${id} is ${order.status}.`;
}

export const tools = {
  check_identity: tool({
    description: "Checks a customer's name and postcode.",
    input: z.strictObject({ name: z.string().min(1), postcode: z.string().min(1) }),
    agents,
    run({ name, postcode }, { state }) {
      const { customer } = state.case;
      if (name !== customer.name || postcode !== customer.postcode) throw new ToolError("they do not match");
      state.identified = true;
      return "They match.";
    },
  }),
  find_orders: tool({
    description: "Finds the orders of a customer.",
    input: z.strictObject({ name: z.string().min(1) }),
    agents,
    run: ({ name }, { state }) => ({
      orders: state.orders.filter(({ customer }) => customer === name),
    }),
  }),
  refund_order: tool({
    description: "Refunds an order.",
    input: orderId,
    agents,
    run: (args, { state }) => change(args, "refund", state),
  }),
  cancel_order: tool({
    description: "Cancels an order.",
    input: orderId,
    agents,
    run: (args, { state }) => change(args, "cancel", state),
  }),
  close_case: tool({
    description: "Closes the case with its outcome.",
    input: z.strictObject({ outcome: z.enum(outcomes) }),
    agents,
    run({ outcome }, { state }) {
      state.outcome = outcome;
      return "Closed.";
    },
  }),
};
