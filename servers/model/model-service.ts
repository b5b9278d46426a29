import { create } from "@bufbuild/protobuf";
import {
  ClosedBy,
  CloseGatewayRequestSchema,
  CloseGatewayResponseSchema,
  CountTokensRequestSchema,
  Feature,
  GenerateRequestSchema,
  ModelService,
  ModelServiceDescribeResponseSchema,
  ModelServiceKeepAliveRequestSchema,
  ModelServiceKeepAliveResponseSchema,
  OpenGatewayRequestSchema,
  ReadCaptureRequestSchema,
  Stage,
  StreamGenerateRequestSchema,
  StreamGenerateResponseSchema,
  UsageSchema,
} from "../../gen/index.js";
import { serviceInfo } from "../runtime/describe.js";
import { cancelledFailure } from "../runtime/failure.js";
import type { HeldService } from "../runtime/held-service.js";
import { invalidField } from "../runtime/refusal.js";
import { routeShared, tellDelivery } from "../runtime/route.js";
import type { Runtime } from "../runtime/runtime.js";
import { Sessions } from "../runtime/sessions.js";
import { validate, warmUp } from "../runtime/validate.js";
import { CallFeed } from "./call-feed.js";
import { controllerOnly, gatewayOf } from "./callers.js";
import { countTokens } from "./count-tokens.js";
import type { ModelDefinition } from "./define-model.js";
import type { Gateway, Gateways } from "./gateway.js";
import { generate } from "./generate.js";
import type { ModelContext } from "./model-context.js";
import { openGateway, spokenDialects } from "./open-gateway.js";

/** What a model service is made of. */
export interface ModelServiceOptions {
  readonly definition: ModelDefinition;
  readonly runtime: Runtime;
  /** Calls that the model takes at once; further ones wait, first come, first served. Absent: no cap. */
  readonly maxConcurrentCalls?: number;
  /** Longest wait of such a call in milliseconds; absent: the server's own, which may be none. */
  readonly queueTimeoutMs?: number;
}

/** ModelService over a model: the author's functions inside, gateways, captures and the rules of the contract around them. */
export function modelService(options: ModelServiceOptions): HeldService {
  const { definition, runtime } = options;
  const gateways = createGateways(runtime);
  const { sessions } = gateways;
  const context: ModelContext = {
    definition,
    runtime,
    gateways,
    admission: runtime.admission({
      clock: runtime.clock,
      max: options.maxConcurrentCalls,
      queueTimeoutMs: options.queueTimeoutMs ?? runtime.limits.queueTimeoutMs,
    }),
  };
  warmUp([GenerateRequestSchema, StreamGenerateRequestSchema, OpenGatewayRequestSchema]);

  const access = {
    shared: ["generate", "streamGenerate", "countTokens"],
    knows: (token: string) => gateways.keys.has(token),
  };
  const routed = routeShared({ runtime, access }, ModelService, {
    describe: () => describe(definition, runtime),
    async generate(request, call) {
      const gateway = gatewayOf(call, gateways);
      validate(GenerateRequestSchema, request);
      return await generate(context, { request, within: "", gateway, call, reader: undefined });
    },
    async *streamGenerate(streamed, call) {
      const gateway = gatewayOf(call, gateways);
      validate(StreamGenerateRequestSchema, streamed);
      const { request } = streamed;
      if (request === undefined) throw invalidField("request", "is required");
      const feed = new CallFeed();
      generate(context, { request, within: "request.", gateway, call, reader: feed }).then(
        (value) =>
          feed.completed(create(StreamGenerateResponseSchema, { event: { case: "completed", value } })),
        (error: unknown) => feed.failed(error),
      );
      yield* feed.read({ signal: call.signal, clock: runtime.clock });
    },
    async countTokens(request, call) {
      const gateway = gatewayOf(call, gateways);
      validate(CountTokensRequestSchema, request);
      return await countTokens(context, request, { gateway, call });
    },
    async openGateway(request, call) {
      controllerOnly(call, gateways);
      validate(OpenGatewayRequestSchema, request);
      const { operation, delivery } = openGateway(context, request);
      tellDelivery(call, delivery);
      return await operation.answer(call);
    },
    async *readCapture(request, call) {
      controllerOnly(call, gateways);
      validate(ReadCaptureRequestSchema, request);
      const session = sessions.known(request.gatewayId);
      // Works after CloseGateway (MDL-GATE-005); a gateway that ended by itself says so (MDL-GATE-009).
      if (session.end === undefined) sessions.touch(session);
      else if (session.end.by !== ClosedBy.CALLER) sessions.open(session.id);
      yield* session.state?.capture.read(request.afterSequence) ?? [];
    },
    keepAlive(request, call) {
      controllerOnly(call, gateways);
      validate(ModelServiceKeepAliveRequestSchema, request);
      return create(ModelServiceKeepAliveResponseSchema, { lease: sessions.keepAlive(request.gatewayId) });
    },
    async closeGateway(request, call) {
      controllerOnly(call, gateways);
      validate(CloseGatewayRequestSchema, request);
      const { session, receipt } = await sessions.close(request.gatewayId, request.episodeId);
      const capture = session.state?.capture;
      return create(CloseGatewayResponseSchema, {
        receipt,
        calls: BigInt(capture?.calls ?? 0),
        usage: capture?.usage ?? create(UsageSchema),
        captureFaults: BigInt(capture?.faults ?? 0),
      });
    },
  });
  return {
    routes: [routed],
    live: () => sessions.live,
    async drain() {
      await sessions.drain();
      await definition.close?.();
    },
  };
}

function createGateways(runtime: Runtime): Gateways {
  const keys = new Map<string, string>();
  const sessions = new Sessions<Gateway>({
    runtime,
    what: "gateway",
    stage: Stage.OPEN_GATEWAY,
    async release(_session, { key, running }) {
      keys.delete(key);
      for (const call of running) call.cancel(cancelledFailure("the gateway was closed"));
      // ALL-CLOSE-007: nothing of the gateway runs any more when it is confirmed.
      await Promise.all([...running].map(({ over }) => over));
      return [];
    },
  });
  return { sessions, keys, principals: runtime.principals };
}

function describe(definition: ModelDefinition, runtime: Runtime) {
  const { tokens } = definition;
  return create(ModelServiceDescribeResponseSchema, {
    service: serviceInfo(runtime, {
      name: definition.name,
      version: definition.version,
      features: [
        Feature.GATEWAY,
        ...(tokens === undefined ? [] : [Feature.TOKEN_IDS]),
        ...(tokens === "logprobs" ? [Feature.LOGPROBS] : []),
      ],
    }),
    model: definition.model,
    weightsVersion: definition.weightsVersion,
    contextTokens: BigInt(definition.contextTokens),
    ...(definition.maxOutputTokens === undefined
      ? {}
      : { maxOutputTokens: BigInt(definition.maxOutputTokens) }),
    maxChoices: definition.maxChoices ?? 1,
    dialects: [...spokenDialects],
  });
}
