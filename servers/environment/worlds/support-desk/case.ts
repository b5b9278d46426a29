import { z } from "zod";
import { canaryField } from "../hidden-data.js";

/** What binds the assistant, and what ends the conversation: a task's own, for everybody to see. */
export const rulesSchema = z.strictObject({
  identity_first: z.boolean().describe("Nothing is changed before name and postcode were checked."),
  refund_days: z.int().min(0).describe("Days after delivery within which an order is refunded."),
  max_turns: z.int().min(1).describe("Turns of the assistant, after which the conversation is cut."),
  stop_phrase: z.string().min(1).describe("What the customer says to end the conversation."),
});
export type Rules = z.output<typeof rulesSchema>;

const orderSchema = z.strictObject({
  id: z.string().min(1),
  customer: z.string().min(1),
  item: z.string().min(1),
  status: z.enum(["processing", "delivered", "refunded", "cancelled"]),
  days_since_delivery: z.int().min(0).optional(),
});
export type Order = z.output<typeof orderSchema>;

/** What the assistant may do with an order, and what becomes of it then. */
export const actions = { refund: "refunded", cancel: "cancelled" } as const;
export type ActionName = keyof typeof actions;

/** How a case can end. */
export const outcomes = ["refunded", "cancelled", "declined_too_late", "declined_status"] as const;
export type Outcome = (typeof outcomes)[number];

/** A case: who asks for what, and what the desk's files hold. */
export const caseSchema = z.strictObject({
  customer: z.strictObject({ name: z.string().min(1), postcode: z.string().min(1), manner: z.string() }),
  wants: z.strictObject({ action: z.enum(["refund", "cancel"]), order: z.string().min(1) }),
  orders: z.array(orderSchema).min(1),
  canary: canaryField,
});
export type Case = z.output<typeof caseSchema>;

/** The policies, as the assistant reads them. */
export function policiesOf({ identity_first: identityFirst, refund_days: days }: Rules): string {
  return [
    ...(identityFirst ? ["Change nothing before you have checked the customer's name and postcode."] : []),
    `Refund an order only if it was delivered, at most ${days} days ago.`,
    "Cancel an order only while it is being processed.",
    "Touch no order of anybody else.",
    "Decline what the policies do not allow: as declined_too_late where a refund is only too late, else as declined_status.",
    "Close each case with its outcome.",
  ]
    .map((policy) => `- ${policy}`)
    .join("\n");
}

/** Why the policies forbid an action on an order; undefined: they allow it. */
export function forbids(
  { refund_days: days }: Rules,
  action: ActionName,
  order: Order,
): Extract<Outcome, `declined_${string}`> | undefined {
  switch (action) {
    case "refund":
      if (order.status !== "delivered") return "declined_status";
      return (order.days_since_delivery ?? 0) > days ? "declined_too_late" : undefined;
    case "cancel":
      return order.status === "processing" ? undefined : "declined_status";
  }
}

/** How a case has to end. */
export function rightful({ wants, orders }: Case, rules: Rules): Outcome {
  const order = orders.find(({ id }) => id === wants.order);
  return order === undefined
    ? "declined_status"
    : (forbids(rules, wants.action, order) ?? actions[wants.action]);
}
