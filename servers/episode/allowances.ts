import { create } from "@bufbuild/protobuf";
import { type Budget, type StopReason, type Usage, UsageSchema } from "../../gen/index.js";
import { addUsage } from "../runtime/usage.js";
import { remainingBudget } from "./remaining-budget.js";

interface Account {
  readonly usage: Usage;
  wallMs: number;
}

/** What each agent may use by the task's own word, in all its turns and sessions, and has used of it (EPI-RUN-015). */
export class Allowances {
  readonly #accounts = new Map<string, Account>();
  /** What each may use; undefined: the task says nothing. */
  whole: Budget | undefined;

  /** A stage has a budget of its own: what was used before is not counted against it. */
  renew(whole: Budget): void {
    this.whole = whole;
    this.#accounts.clear();
  }

  /** What an agent has left for its next turn, or why there is none. */
  left(agentId: string): { readonly left: Budget | undefined } | { readonly spent: StopReason } {
    const account = this.#accounts.get(agentId);
    if (this.whole === undefined || account === undefined) return { left: this.whole };
    return remainingBudget(this.whole, account);
  }

  /** Counts a turn of an agent. */
  count(agentId: string, usage: Usage | undefined, wallMs: number): void {
    const account = this.#accounts.get(agentId) ?? { usage: create(UsageSchema), wallMs: 0 };
    if (usage !== undefined) addUsage(account.usage, usage);
    account.wallMs += wallMs;
    this.#accounts.set(agentId, account);
  }
}
