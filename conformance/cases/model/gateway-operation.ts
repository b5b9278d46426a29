import { clone } from "@bufbuild/protobuf";
import {
  CaptureLevel,
  Feature,
  ModelDialect,
  ModelService,
  type OpenGatewayRequest,
  OpenGatewayRequestSchema,
  type OpenGatewayResponse,
} from "../../../gen/index.js";
import { NotApplicable } from "../../check/finding.js";
import type { Reply } from "../../subject/reply.js";
import { duration, milliseconds } from "../shared/durations.js";
import type { AskedOperation, OperationEnd, OperationKind } from "../shared/operation-kind.js";
import type { SessionKind, SharedSession } from "../shared/session-kind.js";
import type { ModelCalls, ModelTrial } from "./model-trial.js";

function endOf({ message, status, headers, trailers }: Reply<OpenGatewayResponse>): OperationEnd {
  return {
    answer: message,
    status,
    answerId: message?.answerId ?? "",
    failure: status?.failure,
    timeoutMs: milliseconds(message?.timeout),
    headers,
    trailers,
  };
}

function askedGateway(t: ModelTrial, request: OpenGatewayRequest): AskedOperation {
  const { gatewayId, context } = request;
  const send = async (calls: ModelCalls, asked: object, options = {}): Promise<OperationEnd> =>
    endOf(await calls.openGateway(asked as OpenGatewayRequest, options));
  return {
    request,
    quick: true,
    sessionId: gatewayId,
    ask: (asked = request, { elsewhere, ...options } = {}) =>
      send(elsewhere === true ? t.elsewhere() : t.calls, asked, options),
    askAndCut() {
      const connection = t.connect();
      return { end: send(connection.client(ModelService), request), cut: () => connection.cut() };
    },
    otherContent: () => ({ ...clone(OpenGatewayRequestSchema, request), capture: CaptureLevel.SUMMARY }),
    timed: (ms) => ({ ...clone(OpenGatewayRequestSchema, request), timeout: duration(ms) }),
    close: ({ elsewhere, ...options } = {}) =>
      (elsewhere === true ? t.elsewhere() : t.calls).closeGateway(
        { gatewayId, ...(context?.episodeId === undefined ? {} : { episodeId: context.episodeId }) },
        options,
      ),
  };
}

/** OpenGateway, as the shared rules see it. */
export const gatewayOperation: OperationKind<ModelTrial> = {
  rpc: "OpenGateway",
  features: [Feature.GATEWAY],
  failureInAnswer: false,
  creating: true,
  numbered: false,
  available: (t) => t.has(Feature.GATEWAY),
  outcome({ answer, status }) {
    const opened = answer as OpenGatewayResponse | undefined;
    return {
      dialects: opened?.accesses.map(({ dialect, model }) => ({ dialect, model })),
      capture: opened?.capture,
      code: status?.code,
    };
  },
  badPath: () => "dialects",
  crashText: () => "",
  prepare: async (t) => askedGateway(t, t.gatewayRequest()),
  async provoke(t, what, { sessionId, context } = {}) {
    const init = {
      ...(sessionId === undefined ? {} : { gatewayId: sessionId }),
      ...(context === undefined ? {} : { context }),
    };
    switch (what) {
      // Nobody can make it slow; what is asked of a slow one holds of a quick one too.
      case "slow":
      case "long":
        return askedGateway(t, t.gatewayRequest(init));
      case "invalid":
        return askedGateway(t, t.gatewayRequest({ ...init, dialects: [ModelDialect.UNSPECIFIED] }));
      default:
        throw new NotApplicable("opening a gateway cannot be made to fail");
    }
  },
  following: async (t) => askedGateway(t, t.gatewayRequest()),
  instead: async (t, refused) => askedGateway(t, t.gatewayRequest({ gatewayId: refused.sessionId })),
  besides: async (t) => askedGateway(t, t.gatewayRequest()),
};

function sharedGateway(
  t: ModelTrial,
  request: OpenGatewayRequest,
  answer: OpenGatewayResponse | undefined,
): SharedSession {
  const { gatewayId, context } = request;
  const own = context ?? t.context();
  return {
    id: gatewayId,
    context,
    echoed: context,
    lease: answer?.lease,
    created: askedGateway(t, request),
    close: ({ elsewhere, episodeId, ...options } = {}) => {
      const asked = episodeId ?? own.episodeId;
      return (elsewhere === true ? t.elsewhere() : t.calls).closeGateway(
        { gatewayId, ...(asked === undefined ? {} : { episodeId: asked }) },
        options,
      );
    },
    keepAlive: ({ elsewhere, ...options } = {}) =>
      (elsewhere === true ? t.elsewhere() : t.calls).keepAlive({ gatewayId }, options),
    calls: () => [
      { rpc: "KeepAlive", ask: () => t.calls.keepAlive({ gatewayId }) },
      { rpc: "ReadCapture", ask: () => t.calls.readCapture({ gatewayId }).finish() },
    ],
  };
}

/** Gateways, as the shared rules see sessions. */
export const gatewaySessions: SessionKind<ModelTrial> = {
  rpc: `${ModelService.name}.OpenGateway`,
  idField: "gateway_id",
  async open(t, { sessionId, leaseMs, context } = {}) {
    const request = t.gatewayRequest({
      ...(sessionId === undefined ? {} : { gatewayId: sessionId }),
      ...(leaseMs === undefined ? {} : { lease: duration(leaseMs) }),
      ...(context === undefined ? {} : { context }),
    });
    const reply = await t.calls.openGateway(request);
    return sharedGateway(t, request, t.judge.answer(`OpenGateway ${request.gatewayId}`, reply));
  },
  unopened(t, id, episodeId) {
    const context = t.context();
    if (episodeId !== undefined && context.episodeId !== undefined)
      Object.assign(context.episodeId, episodeId);
    return sharedGateway(t, t.gatewayRequest({ gatewayId: id, context }), undefined);
  },
  contextOf: (t, init) => t.context(init),
  bounds(t) {
    const lease = t.described.service?.limits?.lease;
    return {
      minimum: milliseconds(lease?.minimum),
      default: milliseconds(lease?.defaultValue),
      maximum: milliseconds(lease?.maximum),
    };
  },
};
