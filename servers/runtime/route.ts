import type { DescMethod, DescService, MessageShape } from "@bufbuild/protobuf";
import { Code, ConnectError, type HandlerContext, type ServiceImpl } from "@connectrpc/connect";
import { deliveryTrailer, instanceHeader } from "../../clients/metadata.js";
import { Stage } from "../../gen/index.js";
import { answerLimit } from "./answer-limit.js";
import { checkFits } from "./answer-size.js";
import { AnswerStream } from "./answer-stream.js";
import type { CallOutcome, ObservedCall } from "./call-observer.js";
import { OperationFailedError, OperationFailure, toFailure } from "./failure.js";
import { type ServiceRoute, serviceRoute } from "./grpc/index.js";
import { newAnswerId } from "./identity.js";
import { isInstance } from "./is-instance.js";
import { logError } from "./log.js";
import type { Delivery } from "./operation.js";
import { requireController } from "./principals.js";
import { Refusal } from "./refusal.js";
import type { Runtime } from "./runtime.js";

type UnaryLike = (request: unknown, context: HandlerContext) => unknown;
type StreamLike = (request: unknown, context: HandlerContext) => AsyncIterable<unknown>;

/** Tells how an answer came about (ALL-REPEAT-019). */
export function tellDelivery(context: HandlerContext, delivery: Delivery): void {
  context.responseTrailer.set(deliveryTrailer, delivery);
}

/** Who else than the controller calls a service, where the server knows its principals (R15). */
export interface RouteAccess {
  /** Rpcs that ask their callers for their credentials themselves, by local name; all others are the controller's. */
  readonly shared: readonly string[];
  /** Whether a token is somebody's who may call the shared ones. */
  readonly knows: (token: string) => boolean;
}

/**
 * Puts the rules of every call around a service: the instance header on every answer, refusals included
 * (ALL-SCOPE-001), nobody but the controller where the server knows its principals (ALL-PRIN-006), and no words of an
 * unexpected error in a status (ALL-FAIL-003, ALL-FAIL-004).
 */
export function route<S extends DescService>(
  runtime: Runtime,
  service: S,
  implementation: Partial<ServiceImpl<S>>,
): ServiceRoute {
  return routeShared({ runtime, access: controllerOnly }, service, implementation);
}

/** The same around a service that others than the controller may call too. */
export function routeShared<S extends DescService>(
  { runtime, access }: { readonly runtime: Runtime; readonly access: RouteAccess },
  service: S,
  implementation: Partial<ServiceImpl<S>>,
): ServiceRoute {
  const wrapped: Record<string, unknown> = {};
  for (const method of service.methods) {
    const own = (implementation as Record<string, unknown>)[method.localName];
    if (own === undefined) continue;
    const check = checkOf(runtime, method, access);
    wrapped[method.localName] =
      method.methodKind === "unary" || method.methodKind === "client_streaming"
        ? unary(runtime, method, { check, own: own as UnaryLike })
        : streaming(runtime, method, { check, own: own as StreamLike });
  }
  return serviceRoute(service, wrapped as Partial<ServiceImpl<S>>);
}

/** Throws the refusal of a caller that may not call. */
type Check = (context: HandlerContext) => void;

const controllerOnly: RouteAccess = { shared: [], knows: () => false };

function checkOf({ principals }: Runtime, method: DescMethod, { shared, knows }: RouteAccess): Check {
  if (principals === undefined || shared.includes(method.localName)) return () => {};
  return (context) => requireController(principals, context, knows);
}

interface Wrapped<Own> {
  readonly check: Check;
  readonly own: Own;
}

function unary(runtime: Runtime, method: DescMethod, { check, own }: Wrapped<UnaryLike>): UnaryLike {
  return async (request, context) => {
    const ended = observe(runtime, method, { request, context });
    context.responseHeader.set(instanceHeader, runtime.instanceId);
    try {
      check(context);
      const fits = sizeCheck(runtime, method, context);
      const answer = await own(request, context);
      fits?.(answer);
      ended?.(served);
      return answer;
    } catch (error) {
      const status = toStatus(runtime, method, error);
      ended?.(outcomeOf(status));
      throw status;
    }
  };
}

function streaming(runtime: Runtime, method: DescMethod, { check, own }: Wrapped<StreamLike>): StreamLike {
  return (request, context) => {
    let ended: ((outcome: CallOutcome) => void) | undefined;
    return new AnswerStream({
      begin() {
        ended = observe(runtime, method, { request, context });
        context.responseHeader.set(instanceHeader, runtime.instanceId);
        check(context);
        const fits = sizeCheck(runtime, method, context);
        const answers = own(request, context);
        return fits === undefined ? answers : fitting(answers, fits);
      },
      toStatus: (error) => toStatus(runtime, method, error),
      ended: (how) => ended?.(how === "served" ? served : how === "left" ? left : outcomeOf(how)),
    });
  };
}

async function* fitting(
  answers: AsyncIterable<unknown>,
  fits: (answer: unknown) => void,
): AsyncGenerator<unknown, void, undefined> {
  for await (const answer of answers) {
    fits(answer);
    yield answer;
  }
}

const served: CallOutcome = { code: "OK", reason: undefined };
/** A stream whose reader went before it ended. */
const left: CallOutcome = { code: "CANCELLED", reason: undefined };

/** Tells observers that a call begins; undefined where there are none. */
function observe(
  { observers }: Runtime,
  method: DescMethod,
  { request, context }: { readonly request: unknown; readonly context: HandlerContext },
): ((outcome: CallOutcome) => void) | undefined {
  if (observers.length === 0) return undefined;
  const single = method.methodKind === "unary" || method.methodKind === "server_streaming";
  const call: ObservedCall = { method, request: single ? request : undefined, context };
  const ends = observers.map((observer) => observer.begin(call));
  return (outcome) => {
    for (const end of ends) end(outcome);
  };
}

function outcomeOf(status: ConnectError): CallOutcome {
  // `InvalidArgument` of the library is INVALID_ARGUMENT of the wire.
  const code = Code[status.code].replace(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase();
  const reason = status instanceof Refusal ? status.reasonName : undefined;
  return {
    code,
    reason: reason ?? (status instanceof OperationFailedError ? "OPERATION_FAILED" : undefined),
  };
}

/**
 * Refuses an answer that its caller does not take: a read, or an operation that another caller began. Absent where the
 * port's own limit is the caller's (R11).
 */
function sizeCheck(
  { limits }: Runtime,
  method: DescMethod,
  context: HandlerContext,
): ((answer: unknown) => void) | undefined {
  const limit = answerLimit(limits, context);
  if (limit >= limits.maxMessageBytes) return undefined;
  return (answer) => checkFits(method.output, answer as MessageShape<typeof method.output>, limit);
}

/** The status of whatever a service threw; words of an unexpected error go to the log only. */
export function toStatus(runtime: Runtime, method: DescMethod, error: unknown): ConnectError {
  if (isInstance(error, ConnectError)) return error;
  if (!isInstance(error, OperationFailure)) {
    logError(runtime.log, { rpc: `${method.parent.typeName}/${method.name}` }, error);
  }
  return new OperationFailedError(toFailure(error, { stage: Stage.UNSPECIFIED }), newAnswerId());
}
