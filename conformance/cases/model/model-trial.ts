import { clone, create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  CaptureLevel,
  type EpisodeContext,
  EpisodeContextSchema,
  EpisodeIdSchema,
  type Feature,
  type GenerateRequest,
  GenerateRequestSchema,
  type GenerateResponse,
  ModelDialect,
  ModelService,
  type ModelServiceDescribeResponse,
  type OpenGatewayRequest,
  OpenGatewayRequestSchema,
  type OpenGatewayResponse,
  type Prompt,
  PromptSchema,
} from "../../../gen/index.js";
import { checksOf } from "../../check/check.js";
import type { Trial } from "../../check/trial.js";
import type { ModelFixture } from "../../fixture/model-fixture.js";
import type { Connection } from "../../subject/connection.js";
import type { SubjectClient } from "../../subject/subject-client.js";

/** Calls of a model. */
export type ModelCalls = SubjectClient<typeof ModelService>;

/** What the checks of a model work with. */
export interface ModelTrial extends Trial {
  readonly fixture: ModelFixture;
  readonly described: ModelServiceDescribeResponse;
  /** Calls over the check's first connection. */
  readonly calls: ModelCalls;
  /** Calls over a connection of their own. */
  elsewhere(): ModelCalls;
  has(feature: Feature): boolean;
  context(init?: MessageInitShape<typeof EpisodeContextSchema>): EpisodeContext;
  /** A copy of the fixture's short prompt. */
  prompt(): Prompt;
  /** A Generate of the short prompt. */
  request(init?: MessageInitShape<typeof GenerateRequestSchema>): GenerateRequest;
  /** Generates; no answer is a finding. */
  generate(init?: MessageInitShape<typeof GenerateRequestSchema>): Promise<GenerateResponse>;
  /** An OpenGateway under a new id, for the dialect touchstone.v1. */
  gatewayRequest(init?: MessageInitShape<typeof OpenGatewayRequestSchema>): OpenGatewayRequest;
  /** Opens a gateway; no answer is a finding. */
  openGateway(init?: MessageInitShape<typeof OpenGatewayRequestSchema>): Promise<{
    readonly request: OpenGatewayRequest;
    readonly answer: OpenGatewayResponse;
    readonly key: string;
  }>;
  /** Calls with a gateway's key. */
  withKey(key: string): { readonly headers: Readonly<Record<string, string>> };
}

/** Defines a check of the model profile. */
export const modelCheck = checksOf<ModelTrial>("model");

/** Adds to a trial what models have. */
export function modelTrial(
  trial: Trial,
  { fixture, described }: { fixture: ModelFixture; described: ModelServiceDescribeResponse },
): ModelTrial {
  let first: Connection | undefined;
  const features = new Set(described.service?.features);
  const made: ModelTrial = {
    ...trial,
    fixture,
    described,
    get calls() {
      first ??= trial.connect();
      return first.client(ModelService);
    },
    elsewhere: () => trial.connect().client(ModelService),
    has: (feature) => features.has(feature),
    context(init = {}) {
      const context = create(EpisodeContextSchema, init);
      context.episodeId = create(EpisodeIdSchema, { rolloutId: trial.id("rollout") });
      return context;
    },
    prompt: () => clone(PromptSchema, fixture.prompt),
    request: (init = {}) => create(GenerateRequestSchema, { prompt: made.prompt(), ...init }),
    generate: async (init) => trial.judge.answer("Generate", await made.calls.generate(made.request(init))),
    gatewayRequest: (init = {}) =>
      create(OpenGatewayRequestSchema, {
        gatewayId: trial.id("gateway"),
        context: made.context(),
        agentId: "agent",
        dialects: [ModelDialect.TOUCHSTONE_V1],
        capture: CaptureLevel.ITEMS,
        ...init,
      }),
    async openGateway(init) {
      const request = made.gatewayRequest(init);
      const answer = trial.judge.answer("OpenGateway", await made.calls.openGateway(request));
      const key = answer.accesses[0]?.apiKey ?? "";
      trial.judge.differ("accesses[0].api_key", key, "");
      return { request, answer, key };
    },
    withKey: (key) => ({ headers: { authorization: `Bearer ${key}` } }),
  };
  return made;
}
