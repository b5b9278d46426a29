import { shuffled } from "../shuffled.js";
import { splitmix64 } from "../splitmix64.js";
import type { Case, Order, Rules } from "./case.js";

const names = ["Ana Silva", "Bo Lindqvist", "Chidi Eze", "Dora Novak", "Emre Kaya", "Fumiko Abe"];
const items = ["lamp", "kettle", "tent", "keyboard", "rug", "drill"];
const manners = ["You are in a hurry.", "You are friendly.", "You are annoyed.", "You like to chat."];

/** A case and the rules that hold for it, from a seed. */
export function randomCase(seed: bigint): { readonly case: Case; readonly rules: Rules } {
  const random = splitmix64(seed);
  const [name = "", ...others] = shuffled(names, random);
  const wares = shuffled(items, random);
  const orders = [name, name, ...others.slice(0, 2)].map((customer, i) => ({
    id: `A-${random.integer(10, 99)}${i}`,
    customer,
    item: wares[i] ?? "lamp",
    ...random.pick<Pick<Order, "status" | "days_since_delivery">>([
      { status: "processing" },
      { status: "delivered", days_since_delivery: random.integer(1, 60) },
      { status: "delivered", days_since_delivery: random.integer(1, 20) },
    ]),
  }));
  const [order] = orders;
  return {
    rules: {
      identity_first: random.integer(0, 3) > 0,
      refund_days: random.pick([14, 30]),
      max_turns: 8,
      stop_phrase: "###STOP###",
    },
    case: {
      customer: { name, postcode: `${random.integer(1000, 9999)}`, manner: random.pick(["", ...manners]) },
      // One of six wants what cannot be, whatever the days.
      wants: {
        action: (order?.status === "processing") === random.integer(1, 6) > 1 ? "cancel" : "refund",
        order: order?.id ?? "",
      },
      orders,
    },
  };
}
