import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import { ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.js";
import { EnvironmentService, type StepRequest, StepResponseSchema } from "../../gen/index.js";
import { type PeerServer, servePeer } from "./peer-server.js";

type Answer = MessageInitShape<typeof StepResponseSchema>;

/** What the world does at a step: its answer, a refusal, or never an answer. */
export type Stepping = (request: StepRequest, count: number) => Answer | ConnectError | "hang";

/** An environment's tools that the runner plays. */
export interface ScriptedTools extends PeerServer {
  /** The steps that came, in order. */
  readonly steps: readonly StepRequest[];
}

/** A refusal of the contract. */
export function refusal(code: Code, reason: string): ConnectError {
  return new ConnectError(reason, code, undefined, [
    { desc: ErrorInfoSchema, value: { domain: "touchstone", reason } },
  ]);
}

/** Answers every tool call of a step with a text. */
export function results(text: string, { isError = false } = {}): Stepping {
  return (request, count) => ({
    answerId: `answer-${count}`,
    stepIndex: count,
    sequence: BigInt(count + 1),
    outcomes: request.actions.map(({ agentId, kind }) => ({
      agentId,
      observation: {
        items:
          kind.case === "toolCall"
            ? [
                {
                  kind: {
                    case: "toolResult" as const,
                    value: {
                      callId: kind.value.callId,
                      isError,
                      content: [{ kind: { case: "text" as const, value: text } }],
                    },
                  },
                },
              ]
            : [],
      },
    })),
    nextAgents: request.actions.map(({ agentId }) => agentId),
  });
}

/** Serves scripted tools. */
export async function scriptedTools(stepping: Stepping): Promise<ScriptedTools> {
  let count = 0;
  const script: Partial<ServiceImpl<typeof EnvironmentService>> = {
    async step(request, { signal }) {
      const done = stepping(request, count);
      count += 1;
      if (done instanceof ConnectError) throw done;
      if (done === "hang") {
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        throw new ConnectError("its caller left", Code.Canceled);
      }
      return create(StepResponseSchema, done);
    },
    listTools: () => ({ tools: [] }),
    // What an agent must never call is served, so that it is seen.
    async *verify() {
      yield* [];
    },
    close: () => ({}),
    keepAlive: () => ({}),
  };
  const server = await servePeer("environment", [{ service: EnvironmentService, script }]);
  return {
    ...server,
    get steps() {
      return server.requests(EnvironmentService, "step");
    },
  };
}
