import { setTimeout as delay } from "node:timers/promises";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError, type HandlerContext, type ServiceImpl } from "@connectrpc/connect";
import {
  FinishReason,
  type GenerateRequest,
  GenerateResponseSchema,
  ModelDialect,
  ModelService,
  ModelServiceDescribeResponseSchema,
  Role,
  type ToolCallSchema,
  type UsageSchema,
} from "../../gen/index.js";
import { type PeerServer, servePeer } from "./peer-server.js";

type Answer = MessageInitShape<typeof GenerateResponseSchema>;

/** What the model does at a call: answers, at once or after a while, fails, or never answers until its caller leaves. */
export type Saying = Answer | { readonly afterMs: number; readonly answer: Answer } | ConnectError | "hang";

/** A model that the runner plays: its sayings in order, the last one again for whatever comes after. */
export interface ScriptedModel extends PeerServer {
  /** What it was asked, in order. */
  readonly asked: readonly GenerateRequest[];
}

/** Serves a scripted model. */
export async function scriptedModel(sayings: readonly Saying[]): Promise<ScriptedModel> {
  let calls = 0;
  const generate = async (_request: GenerateRequest, { signal }: HandlerContext) => {
    const saying = sayings[Math.min(calls, sayings.length - 1)];
    calls += 1;
    if (saying === undefined) throw new ConnectError("the script is empty", Code.Internal);
    if (saying instanceof ConnectError) throw saying;
    if (saying === "hang") {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      throw new ConnectError("its caller left", Code.Canceled);
    }
    if ("afterMs" in saying) await delay(saying.afterMs, undefined, { signal });
    const answer = "afterMs" in saying ? saying.answer : saying;
    return create(GenerateResponseSchema, { callId: `call-${calls}`, weightsVersion: "1", ...answer });
  };
  const script: Partial<ServiceImpl<typeof ModelService>> = {
    describe: () =>
      create(ModelServiceDescribeResponseSchema, {
        service: {
          contractVersion: "1.0",
          instanceId: "runner",
          implementation: { name: "runner", version: "1" },
        },
        model: "scripted",
        weightsVersion: "1",
        contextTokens: 100_000n,
        maxChoices: 1,
        dialects: [ModelDialect.TOUCHSTONE_V1],
      }),
    generate,
    async *streamGenerate({ request }, context) {
      yield { event: { case: "started", value: { callId: `call-${calls + 1}` } } };
      if (request === undefined) throw new ConnectError("no request", Code.InvalidArgument);
      yield { event: { case: "completed", value: await generate(request, context) } };
    },
    countTokens: () => ({ inputTokens: 10n }),
  };
  const server = await servePeer("model", [{ service: ModelService, script }]);
  return {
    ...server,
    get asked() {
      const whole = server.requests(ModelService, "generate");
      const streamed = server.requests(ModelService, "streamGenerate");
      return [...whole, ...streamed.flatMap(({ request }) => request ?? [])];
    },
  };
}

type Usage = MessageInitShape<typeof UsageSchema>;

/** The model says a text and is done. */
export function says(
  text: string,
  {
    usage,
    finish = FinishReason.STOP,
    refusal = false,
  }: { usage?: Usage; finish?: FinishReason; refusal?: boolean } = {},
): Answer {
  const content = [{ kind: { case: "text" as const, value: text } }];
  const item = { kind: { case: "chatMessage" as const, value: { role: Role.ASSISTANT, content, refusal } } };
  return { choices: [{ items: [item], finishReason: finish }], ...(usage === undefined ? {} : { usage }) };
}

/** The model calls tools. */
export function calls(
  toolCalls: readonly MessageInitShape<typeof ToolCallSchema>[],
  { usage, finish = FinishReason.TOOL_CALLS }: { usage?: Usage; finish?: FinishReason } = {},
): Answer {
  const items = toolCalls.map((value) => ({ kind: { case: "toolCall" as const, value } }));
  return { choices: [{ items, finishReason: finish }], ...(usage === undefined ? {} : { usage }) };
}
