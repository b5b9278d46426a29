import type { MessageInitShape } from "@bufbuild/protobuf";
import type { SampleStepSchema } from "../../../gen/index.js";

/** A call of a sample, with the reward that its step earns where steps have any. */
export interface SampleCall {
  readonly name: string;
  readonly args: object;
  readonly reward?: number;
}

/** Tool calls of a sample, one a step. */
export function sampleSteps(
  calls: readonly SampleCall[],
  agentId = "agent",
): MessageInitShape<typeof SampleStepSchema>[] {
  return calls.map(({ name, args, reward }, i) => {
    const value = { callId: `call-${i}`, name, argumentsJson: JSON.stringify(args) };
    return {
      actions: [{ agentId, kind: { case: "toolCall", value } }],
      ...(reward === undefined ? {} : { expectedRewards: { [agentId]: { value: reward } } }),
    };
  });
}
