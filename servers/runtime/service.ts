import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { ConnectError, type HandlerContext, type ServiceImpl } from "@connectrpc/connect";
import { Stage } from "../../gen/index.js";
import { OperationFailedError, OperationFailure, toFailure } from "./failure.js";
import { type ServiceRoute, serviceRoute } from "./grpc/index.js";
import { newAnswerId } from "./identity.js";
import { deliveryTrailer, instanceHeader } from "./instance.js";
import { logError } from "./log.js";
import type { Delivery } from "./operation.js";
import type { Runtime } from "./runtime.js";

type UnaryLike = (request: unknown, context: HandlerContext) => unknown;
type StreamLike = (request: unknown, context: HandlerContext) => AsyncIterable<unknown>;

/** Tells how an answer came about (ALL-REPEAT-019). */
export function tellDelivery(context: HandlerContext, delivery: Delivery): void {
  context.responseTrailer.set(deliveryTrailer, delivery);
}

/**
 * Puts the rules of every call around a service: the instance header on every answer, refusals included
 * (ALL-SCOPE-001), and no words of an unexpected error in a status (ALL-FAIL-003, ALL-FAIL-004).
 */
export function route<S extends DescService>(
  runtime: Runtime,
  service: S,
  implementation: Partial<ServiceImpl<S>>,
): ServiceRoute {
  const wrapped: Record<string, unknown> = {};
  for (const method of service.methods) {
    const own = (implementation as Record<string, unknown>)[method.localName];
    if (own === undefined) continue;
    wrapped[method.localName] =
      method.methodKind === "unary" || method.methodKind === "client_streaming"
        ? unary(runtime, method, own as UnaryLike)
        : streaming(runtime, method, own as StreamLike);
  }
  return serviceRoute(service, wrapped as Partial<ServiceImpl<S>>);
}

function unary(runtime: Runtime, method: DescMethod, own: UnaryLike): UnaryLike {
  return async (request, context) => {
    context.responseHeader.set(instanceHeader, runtime.instanceId);
    try {
      return await own(request, context);
    } catch (error) {
      throw toStatus(runtime, method, error);
    }
  };
}

function streaming(runtime: Runtime, method: DescMethod, own: StreamLike): StreamLike {
  return async function* (request, context) {
    context.responseHeader.set(instanceHeader, runtime.instanceId);
    try {
      yield* own(request, context);
    } catch (error) {
      throw toStatus(runtime, method, error);
    }
  };
}

/** The status of whatever a service threw; words of an unexpected error go to the log only. */
export function toStatus(runtime: Runtime, method: DescMethod, error: unknown): ConnectError {
  if (error instanceof ConnectError) return error;
  if (!(error instanceof OperationFailure)) {
    logError(runtime.log, { rpc: `${method.parent.typeName}/${method.name}` }, error);
  }
  return new OperationFailedError(toFailure(error, { stage: Stage.UNSPECIFIED }), newAnswerId());
}
