import { create, type DescService, type MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError, type HandlerContext, type ServiceImpl } from "@connectrpc/connect";
import { ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.js";
import {
  type ActivateResponse,
  ActivateResponseSchema,
  type AgentSessionService,
  CallEnd,
  type EnvironmentService,
  Feature,
  FinishReason,
  ModelDialect,
  type ModelService,
  Placement,
  Role,
  StopReason,
  type VerdictSchema,
  type VerifyResponse,
  VerifyResponseSchema,
  type VerifyResultSchema,
} from "../../gen/index.js";

type Script<S extends DescService> = { -readonly [Rpc in keyof ServiceImpl<S>]?: ServiceImpl<S>[Rpc] };

/** What each part does, rpc by rpc. */
export interface Scripts {
  readonly environment: Script<typeof EnvironmentService>;
  readonly agent: Script<typeof AgentSessionService>;
  readonly model: Script<typeof ModelService>;
}

/** Names that the parts say of themselves. */
export const castNames = { environment: "world", agent: "player", model: "toy" } as const;

/** Lease that all parts echo. */
export const castLease = { duration: { seconds: 30n, nanos: 0 } };

const receipt = { cleanupConfirmed: true, closedBy: 1 };

/** A message of a chat. */
export const words = (role: Role, text: string, itemId = "") => ({
  itemId,
  kind: {
    case: "chatMessage" as const,
    value: { role, content: [{ kind: { case: "text" as const, value: text } }] },
  },
});

/** What the agent answers in every turn. */
export const answerItem = words(Role.ASSISTANT, "#### 42", "i1");

/** What the agent is told. */
export const questionItem = words(Role.USER, "What is 6 x 7?", "u1");

/** What the turn used. */
export const turnUsage = { inputTokens: 10n, outputTokens: 5n, modelCalls: 1 };

type TurnEvent = NonNullable<MessageInitShape<typeof ActivateResponseSchema>["event"]>;

/** The events of a turn, numbered, `accepted` first. */
export async function* turnOf(...events: TurnEvent[]): AsyncGenerator<ActivateResponse> {
  const all: TurnEvent[] = [{ case: "accepted", value: {} }, ...events];
  for (const [i, event] of all.entries())
    yield create(ActivateResponseSchema, { sequence: BigInt(i + 1), event });
}

/** A turn that answers and is done. */
export const answeredTurn = (): AsyncGenerator<ActivateResponse> =>
  turnOf(
    { case: "item", value: answerItem },
    {
      case: "completed",
      value: { answerId: "t", stopReason: StopReason.DONE, usage: turnUsage, output: [answerItem] },
    },
  );

/** A turn that is accepted and goes on until it is left. */
export async function* endlessTurn(call: Pick<HandlerContext, "signal">): AsyncGenerator<ActivateResponse> {
  yield* turnOf();
  await untilLeft(call);
}

type Scored = NonNullable<MessageInitShape<typeof VerifyResultSchema>["outcome"]>;

/** The events of a verification that ends so. */
export async function* verifiedAs(outcome: Scored): AsyncGenerator<VerifyResponse> {
  yield create(VerifyResponseSchema, { sequence: 1n, event: { case: "accepted", value: {} } });
  yield create(VerifyResponseSchema, {
    sequence: 2n,
    event: { case: "result", value: { answerId: "v", outcome } },
  });
}

/** A verification that is accepted and goes on until it is left. */
export async function* endlessVerify(call: Pick<HandlerContext, "signal">): AsyncGenerator<VerifyResponse> {
  yield create(VerifyResponseSchema, { sequence: 1n, event: { case: "accepted", value: {} } });
  await untilLeft(call);
}

/** A verdict of a reward. */
export const verdictOf = (value: number): Omit<MessageInitShape<typeof VerdictSchema>, "$typeName"> => ({
  reward: { value },
  success: true,
  metrics: { steps: 3 },
  provenance: { implementation: "world", version: "1", taskDigest: "sha256:1" },
});

/** Never answers; ends when the caller leaves. */
export async function untilLeft({ signal }: Pick<HandlerContext, "signal">): Promise<never> {
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
  throw new ConnectError("the caller has left", Code.Canceled);
}

/** A status as a library or a proxy makes it: nobody says what became of the call. */
export const bareStatus = (code: Code, message = "connection reset by peer"): ConnectError =>
  new ConnectError(message, code);

/** A refusal of the contract. */
export const refusal = (code: Code, reason: string, message: string): ConnectError =>
  new ConnectError(message, code, undefined, [
    { desc: ErrorInfoSchema, value: create(ErrorInfoSchema, { reason, domain: "touchstone" }) },
  ]);

/** An agent, a world and a model that do what they should: one turn, one verdict of 0.5. */
export function ordinaryScripts(): Scripts {
  return {
    environment: {
      describe: async () => ({
        service: { implementation: { name: castNames.environment, version: "1" }, instanceId: "e-1" },
        environment: castNames.environment,
        agents: ["agent"],
        declarations: { reward: { minimum: 0, maximum: 1 } },
        placements: [Placement.NONE],
      }),
      seed: async ({ sessionId, context, wantReference, seed }) => ({
        answerId: "s",
        session: {
          sessionId,
          ...(context === undefined ? {} : { context }),
          ...(seed === undefined ? {} : { seed }),
          task: { taskId: { id: "q1" }, environment: castNames.environment, digest: "sha256:1" },
          agents: [
            {
              agentId: "agent",
              input: [questionItem],
              tools: [{ name: "add", description: "Adds.", inputSchemaJson: '{"type":"object"}' }],
              toolAccesses: [
                {
                  name: "step",
                  required: true,
                  way: {
                    case: "step" as const,
                    value: { sessionId, agentId: "agent", bearerToken: "tool-token" },
                  },
                },
              ],
            },
          ],
          declarations: { reward: { minimum: 0, maximum: 1 } },
          lease: castLease,
          verifierState: Buffer.from("sealed"),
        },
        ...(wantReference ? { reference: { items: [words(Role.ASSISTANT, "42")] } } : {}),
      }),
      verify: () => verifiedAs({ case: "verdict", value: verdictOf(0.5) }),
      keepAlive: async () => ({ lease: castLease }),
      close: async () => ({ receipt, usage: {}, taskDigest: "sha256:1" }),
    },
    agent: {
      describe: async () => ({
        service: {
          implementation: { name: castNames.agent, version: "2" },
          instanceId: "a-1",
          features: [Feature.INTERRUPT],
        },
        harness: { name: "loop", version: "3" },
        modelDialects: [ModelDialect.TOUCHSTONE_V1],
      }),
      open: async ({ budget }) => ({
        answerId: "o",
        lease: castLease,
        ...(budget === undefined ? {} : { budget }),
      }),
      activate: () => answeredTurn(),
      interrupt: async () => ({ alreadyEnded: false }),
      keepAlive: async () => ({ lease: castLease }),
      close: async () => ({ receipt, activations: 1, usage: turnUsage }),
    },
    model: {
      describe: async () => ({
        service: {
          implementation: { name: "model-server", version: "4" },
          instanceId: "m-1",
          features: [Feature.GATEWAY, Feature.TOKEN_IDS],
        },
        model: castNames.model,
        weightsVersion: "6",
        dialects: [ModelDialect.TOUCHSTONE_V1],
      }),
      openGateway: async () => ({
        answerId: "g",
        accesses: [
          {
            dialect: ModelDialect.TOUCHSTONE_V1,
            baseUrl: "http://127.0.0.1:9",
            apiKey: "gateway-key",
            model: "toy",
          },
        ],
        lease: castLease,
      }),
      async *readCapture() {
        yield {
          sequence: 1n,
          call: {
            callId: "k1",
            end: CallEnd.COMPLETED,
            choices: [{ items: [answerItem], finishReason: FinishReason.STOP, tokens: { callId: "k1" } }],
          },
        };
      },
      keepAlive: async () => ({ lease: castLease }),
      closeGateway: async () => ({ receipt, calls: 1n, usage: turnUsage }),
    },
  };
}
