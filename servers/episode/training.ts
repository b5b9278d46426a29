import { CallEnd, type CapturedCall } from "../../gen/index.js";
import type { AgentGateway } from "./agent-gateway.js";

/** An agent and its way to a model, if it needed one. */
export interface Trained {
  readonly agentId: string;
  readonly gateway: AgentGateway | undefined;
}

/** Why the tokens of an episode may not be trained on; empty: they may (EPI-TRN-001, EPI-TRN-002). */
export function untrainable(agents: readonly Trained[]): string[] {
  const reasons = agents.flatMap(({ agentId, gateway }) =>
    gateway === undefined ? [] : faultsOf(gateway).map((fault) => `agent ${agentId}: ${fault}`),
  );
  const calls = agents.reduce((sum, { gateway }) => sum + (gateway?.calls.length ?? 0), 0);
  if (calls === 0) reasons.push("the agents made no model calls that were captured");
  // An agent may have had several sessions, each with a gateway of its own.
  return [...new Set(reasons)];
}

function faultsOf({ calls, captureRead, closed }: AgentGateway): string[] {
  const faults: string[] = [];
  if (!captureRead) faults.push("its model calls could not be read to their end");
  if (closed === undefined) faults.push("its gateway did not tell how many calls there were");
  else if (closed.calls !== BigInt(calls.length)) {
    faults.push(`${calls.length} of its ${closed.calls} model calls are captured`);
  }
  if ((closed?.captureFaults ?? 0n) > 0n || calls.some(({ captureFault }) => captureFault !== "")) {
    faults.push("the capture of its model calls is not whole");
  }
  if (calls.some(({ end }) => end === CallEnd.UNSPECIFIED)) faults.push("a model call had not ended");
  if (calls.some(lacksTokens)) faults.push("its model calls have no token records");
  return faults;
}

/** A call that was answered, and whose answer has no tokens. */
function lacksTokens({ end, choices }: CapturedCall): boolean {
  if (choices.some(({ tokens }) => tokens === undefined)) return true;
  return end === CallEnd.COMPLETED && choices.length === 0;
}

/** Versions of the weights that answered, in the order in which they came (field-case-089). */
export function weightsVersions(calls: readonly CapturedCall[]): string[] {
  const versions = new Set<string>();
  for (const { choices } of calls) {
    for (const { tokens } of choices) {
      for (const { version } of tokens?.weightSpans ?? []) versions.add(version);
    }
  }
  return [...versions];
}
