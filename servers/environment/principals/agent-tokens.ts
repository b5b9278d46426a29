import type { SessionDescriptor } from "../../../gen/index.js";
import { newToken } from "../../runtime/identity.js";

/** An agent that a token was minted for. */
export interface AgentCaller {
  readonly sessionId: string;
  readonly agentId: string;
}

/** The tokens of agents that are alive: one for each agent of each session (ALL-PRIN-001). */
export class AgentTokens {
  readonly #callers = new Map<string, AgentCaller>();

  /** `principals`: the server knows its principals; without, agents have no tokens. */
  constructor(private readonly principals: boolean) {}

  /** A token that opens nothing yet, of at least 128 random bits; empty without principals. */
  mint(): string {
    return this.principals ? newToken() : "";
  }

  /** Lets the tokens of a session's agents live. */
  admit({ sessionId, agents }: SessionDescriptor): void {
    if (!this.principals) return;
    for (const { agentId, token } of agents) this.#callers.set(token, { sessionId, agentId });
  }

  /** Whose token it is; undefined: nobody's, or nobody's any more. */
  find(token: string): AgentCaller | undefined {
    return this.#callers.get(token);
  }

  /** Ends the tokens of a session's agents (ALL-PRIN-005, ALL-PRIN-009, ALL-PRIN-010). */
  revoke({ agents }: SessionDescriptor): void {
    for (const { token } of agents) this.#callers.delete(token);
  }
}
