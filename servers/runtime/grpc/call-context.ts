import type { IncomingHttpHeaders } from "node:http2";
import type { DescMethod } from "@bufbuild/protobuf";
import { type ContextValues, createContextValues, type HandlerContext } from "@connectrpc/connect";
import { requestHeaders } from "./metadata.js";

/** Why a signal fires after a call that ended well: the reason connect-es gives, made once. */
const COMPLETED = new DOMException("This operation was aborted", "AbortError");

/** Clients round the time-out they send, and theirs has begun before ours: by so much they may be early. */
const DEADLINE_SLACK_MS = 5;
const DEADLINE_SLACK_SHARE = 0.01;

/** What a call keeps for its context. Everything costly is made when it is first asked for. */
export class CallState {
  readonly method: DescMethod;
  readonly incoming: IncomingHttpHeaders;
  readonly timeoutMs: number | undefined;
  responseHeader: Headers | undefined;
  responseTrailer: Headers | undefined;
  readonly #startedAt: number;
  #controller: AbortController | undefined;
  #aborted: { readonly reason: unknown } | undefined;
  #requestHeader: Headers | undefined;
  #values: ContextValues | undefined;

  constructor(method: DescMethod, incoming: IncomingHttpHeaders, timeoutMs: number | undefined) {
    this.method = method;
    this.incoming = incoming;
    this.timeoutMs = timeoutMs;
    this.#startedAt = timeoutMs === undefined ? 0 : performance.now();
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#aborted !== undefined) this.#controller.abort(this.#aborted.reason);
    }
    return this.#controller.signal;
  }

  get requestHeader(): Headers {
    this.#requestHeader ??= requestHeaders(this.incoming);
    return this.#requestHeader;
  }

  get values(): ContextValues {
    this.#values ??= createContextValues();
    return this.#values;
  }

  remainingMs(): number | undefined {
    return this.timeoutMs === undefined ? undefined : this.timeoutMs - (performance.now() - this.#startedAt);
  }

  /** Whether so little time is left that a client's cancel is its own deadline, as its clock has it. */
  get nearDeadline(): boolean {
    const left = this.remainingMs();
    return (
      left !== undefined && left <= Math.max(DEADLINE_SLACK_MS, (this.timeoutMs ?? 0) * DEADLINE_SLACK_SHARE)
    );
  }

  /** Fires the signal, now or when it is first asked for. Only the first reason counts. */
  abort(reason: unknown = COMPLETED): void {
    if (this.#aborted !== undefined) return;
    this.#aborted = { reason };
    this.#controller?.abort(reason);
  }
}

/** connect-es's handler context over a {@link CallState}. */
export class CallContext implements HandlerContext {
  readonly requestMethod = "POST";
  readonly protocolName = "grpc";
  // Not a #private field: objects that inherit from a context (deriveContext) must reach it.
  private readonly state: CallState;

  constructor(state: CallState) {
    this.state = state;
  }

  get method() {
    return this.state.method;
  }

  get service() {
    return this.state.method.parent;
  }

  get signal() {
    return this.state.signal;
  }

  get timeoutMs(): () => number | undefined {
    return () => this.state.remainingMs();
  }

  get requestHeader() {
    return this.state.requestHeader;
  }

  /** A header as it came in, for {@link requestHeaderOf}. */
  incoming(name: string): string | undefined {
    const value = this.state.incoming[name.toLowerCase()];
    return Array.isArray(value) ? value.join(", ") : value;
  }

  get responseHeader(): Headers {
    this.state.responseHeader ??= new Headers();
    return this.state.responseHeader;
  }

  get responseTrailer(): Headers {
    this.state.responseTrailer ??= new Headers();
    return this.state.responseTrailer;
  }

  get values() {
    return this.state.values;
  }

  get url(): string {
    const { incoming } = this.state;
    return `${incoming[":scheme"] ?? "http"}://${incoming[":authority"] ?? incoming.host ?? "localhost"}${incoming[":path"] ?? ""}`;
  }
}

/**
 * One header of a call's request, if it has it (of several values all, with commas). Of the gRPC handler's own contexts it is read
 * where it came in, without a Headers object for all of them; of any other from its `requestHeader`.
 */
export function requestHeaderOf(
  context: Pick<HandlerContext, "requestHeader">,
  name: string,
): string | undefined {
  const value = context instanceof CallContext ? context.incoming(name) : context.requestHeader.get(name);
  return value ?? undefined;
}

/**
 * A context that differs from `base` in some properties only.
 *
 * Use it instead of `{ ...context }`: spreading loses the lazy properties of the gRPC handler's contexts. It works
 * on connect-node's contexts too.
 */
export function deriveContext(base: HandlerContext, changes: Partial<HandlerContext>): HandlerContext {
  return Object.create(base, Object.getOwnPropertyDescriptors(changes)) as HandlerContext;
}
