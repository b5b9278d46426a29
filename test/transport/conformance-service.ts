import { create, type DescMessage, type Message } from "@bufbuild/protobuf";
import { type Any, anyPack } from "@bufbuild/protobuf/wkt";
import { ConnectError, type HandlerContext } from "@connectrpc/connect";
import { serviceRoute } from "../../servers/runtime/grpc/index.js";
import {
  BidiStreamRequestSchema,
  ClientStreamRequestSchema,
  type ConformancePayload_RequestInfo,
  ConformancePayload_RequestInfoSchema,
  ConformanceService,
  type Error as ErrorDefinition,
  type Header,
  HeaderSchema,
  IdempotentUnaryRequestSchema,
  ServerStreamRequestSchema,
  type StreamResponseDefinition,
  UnaryRequestSchema,
  type UnaryResponseDefinition,
} from "./gen/connectrpc/conformance/v1/service_pb.js";

/** The service that the official runner calls: it answers each call as the call itself asks. */
export const conformanceRoute = serviceRoute(ConformanceService, {
  async unary(request, context) {
    const requests = [anyPack(UnaryRequestSchema, request)];
    return { payload: await unaryPayload(request.responseDefinition, requests, context) };
  },

  async idempotentUnary(request, context) {
    const requests = [anyPack(IdempotentUnaryRequestSchema, request)];
    return { payload: await unaryPayload(request.responseDefinition, requests, context) };
  },

  async clientStream(requests, context) {
    const seen: Any[] = [];
    let definition: UnaryResponseDefinition | undefined;
    for await (const request of requests) {
      if (seen.length === 0) definition = request.responseDefinition;
      seen.push(anyPack(ClientStreamRequestSchema, request));
    }
    return { payload: await unaryPayload(definition, seen, context) };
  },

  async *serverStream(request, context) {
    const seen = [anyPack(ServerStreamRequestSchema, request)];
    const definition = request.responseDefinition;
    setMetadata(definition, context);
    for (const [index, data] of (definition?.responseData ?? []).entries()) {
      await wait(definition?.responseDelayMs);
      yield { payload: { data, ...(index === 0 ? { requestInfo: requestInfo(seen, context) } : {}) } };
    }
    throwError(definition, seen, context);
  },

  async *bidiStream(requests, context) {
    let definition: StreamResponseDefinition | undefined;
    let fullDuplex = false;
    let first = true;
    let answered = 0;
    let seen: Any[] = [];
    for await (const request of requests) {
      seen.push(anyPack(BidiStreamRequestSchema, request));
      if (first) {
        first = false;
        definition = request.responseDefinition;
        fullDuplex = request.fullDuplex;
        setMetadata(definition, context);
      }
      if (!fullDuplex) continue;
      const data = definition?.responseData[answered];
      if (data === undefined) break;
      await wait(definition?.responseDelayMs);
      const info =
        answered === 0
          ? requestInfo(seen, context)
          : create(ConformancePayload_RequestInfoSchema, { requests: seen });
      yield { payload: { data, requestInfo: info } };
      answered++;
      seen = [];
    }
    for (; answered < (definition?.responseData.length ?? 0); answered++) {
      await wait(definition?.responseDelayMs);
      const data = definition?.responseData[answered] ?? new Uint8Array();
      yield { payload: { data, ...(answered === 0 ? { requestInfo: requestInfo(seen, context) } : {}) } };
    }
    throwError(definition, answered === 0 ? seen : undefined, context);
  },
});

async function unaryPayload(
  definition: UnaryResponseDefinition | undefined,
  requests: Any[],
  context: HandlerContext,
): Promise<{ data?: Uint8Array; requestInfo: ConformancePayload_RequestInfo }> {
  setMetadata(definition, context);
  await wait(definition?.responseDelayMs);
  const info = requestInfo(requests, context);
  if (definition?.response.case === "error") throw connectError(definition.response.value, info);
  return definition?.response.case === "responseData"
    ? { data: definition.response.value, requestInfo: info }
    : { requestInfo: info };
}

function throwError(
  definition: StreamResponseDefinition | undefined,
  requests: Any[] | undefined,
  context: HandlerContext,
): void {
  if (definition?.error === undefined) return;
  const immediate = requests !== undefined && definition.responseData.length === 0;
  throw connectError(definition.error, immediate ? requestInfo(requests, context) : undefined);
}

function connectError(
  error: ErrorDefinition,
  info: ConformancePayload_RequestInfo | undefined,
): ConnectError {
  const result = new ConnectError(error.message ?? "", error.code as number);
  result.details = error.details.map(({ typeUrl, value }) => ({
    type: typeUrl.slice(typeUrl.lastIndexOf("/") + 1),
    value,
  }));
  if (info !== undefined) {
    const schema: DescMessage = ConformancePayload_RequestInfoSchema;
    result.details.push({ desc: schema, value: info as Message });
  }
  return result;
}

function requestInfo(requests: Any[], context: HandlerContext): ConformancePayload_RequestInfo {
  const timeoutMs = context.timeoutMs();
  const query = [...new URL(context.url).searchParams];
  return create(ConformancePayload_RequestInfoSchema, {
    requests,
    requestHeaders: headerList(context.requestHeader),
    ...(timeoutMs === undefined ? {} : { timeoutMs: BigInt(Math.trunc(timeoutMs)) }),
    ...(query.length === 0 ? {} : { connectGetInfo: { queryParams: headerList(query) } }),
  });
}

function headerList(entries: Iterable<[string, string]>): Header[] {
  return [...entries].map(([name, value]) => create(HeaderSchema, { name, value: [value] }));
}

function setMetadata(
  definition: UnaryResponseDefinition | StreamResponseDefinition | undefined,
  context: HandlerContext,
): void {
  for (const { name, value } of definition?.responseHeaders ?? []) {
    for (const one of value) context.responseHeader.append(name, one);
  }
  for (const { name, value } of definition?.responseTrailers ?? []) {
    for (const one of value) context.responseTrailer.append(name, one);
  }
}

function wait(milliseconds: number | undefined): Promise<void> {
  return milliseconds === undefined || milliseconds === 0
    ? Promise.resolve()
    : new Promise((resolve) => setTimeout(resolve, milliseconds));
}
