import { create } from "@bufbuild/protobuf";
import { CallError } from "../../../../clients/index.js";
import { ActionSchema, Boundary, FailureKind, type StepResponse, type Tool } from "../../../../gen/index.js";
import { textOf } from "../../../runtime/items.js";
import { failureOf } from "../../../runtime/peer-failure.js";
import { type ToolAnswer, type ToolDefinition, ToolError, type ToolInput } from "../../definition/tool.js";
import { soleAgent } from "../../prepared-environment.js";
import type { Part } from "./part.js";

/** What a tool of a facade works with. */
export interface Forwarding {
  /** The part whose tools it has. */
  readonly tools: Part;
}

/** A tool of another environment, called there: each call is a step under an action_id of its own. */
export function forwardedTool({
  name,
  description,
  inputSchemaJson,
}: Tool): ToolDefinition<ToolInput, Forwarding> {
  const schema: object = inputSchemaJson === "" ? {} : JSON.parse(inputSchemaJson);
  return {
    description,
    input: { ...schema, type: "object" },
    async run(args, { state: { tools: part }, signal }) {
      const callId = `${part.session.sessionId}.${part.counts.steps}`;
      part.counts.steps += 1;
      const value = { callId, name, argumentsJson: JSON.stringify(args) };
      try {
        const response = await part.client.step(
          {
            sessionId: part.session.sessionId,
            name: { case: "actionId", value: callId },
            actions: [create(ActionSchema, { agentId: soleAgent, kind: { case: "toolCall", value } })],
          },
          { signal },
        );
        return answered(response, callId);
      } catch (error) {
        return refused(error);
      }
    },
  };
}

/** What came of a call, as if it had been made here. */
function answered({ outcomes, terminated, truncated }: StepResponse, callId: string): ToolAnswer {
  const items = outcomes.flatMap(({ observation }) => observation?.items ?? []);
  const result = items.find(({ kind }) => kind.case === "toolResult" && kind.value.callId === callId);
  const more = items.filter((item) => item !== result);
  const { content = [], isError = false } = result?.kind.case === "toolResult" ? result.kind.value : {};
  // A call that failed has changed nothing here, and ends nothing.
  if (isError && !terminated && !truncated) throw new ToolError(textOf(content));
  return {
    content,
    terminated,
    truncated,
    ...(more.length === 0 ? {} : { outcomes: { [soleAgent]: { observation: { items: more } } } }),
  };
}

/** What a refusal means to the agent. Throws what it is no concern of the agent's. */
function refused(error: unknown): ToolAnswer {
  if (error instanceof CallError) {
    if (error.reason === "EPISODE_ENDED") return { content: "The episode is over.", terminated: true };
    if (error.reason === "INVALID_FIELD" || error.reason === "UNKNOWN_TOOL") {
      throw new ToolError(error.rawMessage);
    }
  }
  throw error instanceof ToolError
    ? error
    : failureOf(error, { boundary: Boundary.ENVIRONMENT, lost: FailureKind.UNAVAILABLE });
}
