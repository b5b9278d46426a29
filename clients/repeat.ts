import { Code } from "@connectrpc/connect";
import { Delivery } from "../gen/index.js";
import { CallError, InstanceChangedError } from "./call-error.js";
import { endOfSignal } from "./channel/call-end.js";
import type { Clock } from "./clock.js";
import type { RpcKind } from "./rpc-kind.js";
import { NO_DETAILS } from "./status-details.js";

/** How far a client goes on repeating a call. Whatever comes first ends it. */
export interface RepeatPolicy {
  /** Attempts at most, the first included, that end without a word of the service. */
  readonly attempts: number;
  /** Refusals at most that say when to come again. */
  readonly refusals: number;
  /** Time for all attempts and the waits between them, in milliseconds. A wait that would pass it is not begun. */
  readonly withinMs: number;
  /** First wait after an attempt without a word, in milliseconds; each further one is twice as long. */
  readonly firstDelayMs: number;
  /** Longest such wait, in milliseconds. */
  readonly maxDelayMs: number;
}

/** The policy of a client that was given none: a minute. */
export const DEFAULT_REPEAT_POLICY: RepeatPolicy = {
  attempts: 5,
  refusals: 1000,
  withinMs: 60_000,
  firstDelayMs: 100,
  maxDelayMs: 5_000,
};

/** What a client or a call changes in the policy; `false`: it is not repeated. */
export type RepeatChange = Partial<RepeatPolicy> | false;

const NO_REPEATS: Partial<RepeatPolicy> = { attempts: 1, refusals: 0 };

/** The policy after these changes, the later ones over the earlier. */
export function repeatPolicy(...changes: readonly (RepeatChange | undefined)[]): RepeatPolicy {
  const policy = { ...DEFAULT_REPEAT_POLICY };
  for (const change of changes) Object.assign(policy, change === false ? NO_REPEATS : change);
  return policy;
}

/** What repeating needs to know beside the policy. */
export interface RepeatScope {
  readonly policy: RepeatPolicy;
  readonly clock: Clock;
  /** A number from 0 to below 1. */
  readonly random: () => number;
  readonly signal?: AbortSignal | undefined;
  /** When the caller's own deadline passes, by the clock. */
  readonly deadlineAt?: number | undefined;
}

/** Counts the attempts of one call, and decides whether another one is safe and within bounds. */
export class RepeatBudget {
  readonly #kind: RpcKind;
  readonly #scope: RepeatScope;
  #startedAt: number;
  #unknown = 0;
  #refused = 0;

  constructor(kind: RpcKind, scope: RepeatScope, startedAt = scope.clock.now()) {
    this.#kind = kind;
    this.#scope = scope;
    this.#startedAt = startedAt;
  }

  /** Attempts that have ended. */
  get attempts(): number {
    return this.#unknown + this.#refused;
  }

  /** Something was achieved: what comes now is another trouble. */
  reset(): void {
    this.#startedAt = this.#scope.clock.now();
    this.#unknown = 0;
    this.#refused = 0;
  }

  /** A connection has ended. One that achieved something, or lived long, ends the trouble that was before it. */
  connectionEnded({ beganAt, achieved }: { readonly beganAt: number; readonly achieved: boolean }): void {
    const { clock, policy } = this.#scope;
    if (achieved || clock.now() - beganAt >= policy.withinMs) this.reset();
  }

  /** After an attempt that failed so: milliseconds to wait before the next one, or undefined to give up. */
  after(error: unknown): number | undefined {
    if (!(error instanceof CallError)) return undefined;
    if (error.isRefusal) this.#refused += 1;
    else this.#unknown += 1;
    const delay = this.#delay(error);
    if (delay === undefined) return undefined;
    const { policy, clock, deadlineAt = Number.POSITIVE_INFINITY } = this.#scope;
    const end = Math.min(this.#startedAt + policy.withinMs, deadlineAt);
    return clock.now() + delay > end ? undefined : delay;
  }

  #delay(error: CallError): number | undefined {
    const { policy } = this.#scope;
    // ALL-REPEAT-003: the failure would be replayed. R14: the name means nothing to another instance.
    if (error.byCaller || error.isRecordedFailure || error instanceof InstanceChangedError) return undefined;
    if (error.isRefusal) {
      // Nothing happened: a repeat is safe for any kind, where the service says when it may help (E6).
      if (error.retryAfterMs === undefined || this.#refused > policy.refusals) return undefined;
      return error.retryAfterMs + this.#backoff(this.#refused) * this.#scope.random();
    }
    // The library's own answer to an rpc that is not served (ALL-ERR-005).
    if (error.code === Code.Unimplemented) return undefined;
    // ALL-REPEAT-020: a call that may have been delivered is never sent again.
    if (this.#kind === "call" && error.delivery !== Delivery.NOT_SENT) return undefined;
    if (this.#unknown >= policy.attempts) return undefined;
    // Equal jitter: half of the wait is certain, so that a peer in trouble is never hammered.
    return this.#backoff(this.#unknown) * (0.5 + this.#scope.random() / 2);
  }

  #backoff(times: number): number {
    const { firstDelayMs, maxDelayMs } = this.#scope.policy;
    return Math.min(maxDelayMs, firstDelayMs * 2 ** Math.min(times - 1, 30));
  }
}

/**
 * Makes a call, and makes it again where that is safe under the same name and may help: after a loss without a word
 * of the service, to learn how it ended; after a refusal that says when to come again, then. Never after a recorded
 * failure, nor a `call` that may have been delivered (R4, E6, ALL-REPEAT-020).
 *
 * @throws CallError - The last attempt's, with the number of attempts.
 */
export async function repeat<T>(kind: RpcKind, scope: RepeatScope, attempt: () => Promise<T>): Promise<T> {
  let budget: RepeatBudget | undefined;
  const startedAt = scope.clock.now();
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      budget ??= new RepeatBudget(kind, scope, startedAt);
      await pauseOrThrow(error, budget, scope);
    }
  }
}

/**
 * Waits as the budget says after an attempt that failed.
 *
 * @throws CallError - The attempt's, where the budget says no; a cancellation, where the signal fires in the wait.
 */
export async function pauseOrThrow(error: unknown, budget: RepeatBudget, scope: RepeatScope): Promise<void> {
  const delay = budget.after(error);
  if (!(error instanceof CallError)) throw error;
  if (delay === undefined) throw error.afterAttempts(budget.attempts);
  const { clock, signal } = scope;
  await new Promise<void>((resolve) => {
    const timer = clock.setTimer(delay, done);
    function done(): void {
      timer.cancel();
      signal?.removeEventListener("abort", done);
      resolve();
    }
    if (signal?.aborted) done();
    else signal?.addEventListener("abort", done);
  });
  if (signal?.aborted) throw abandoned(error, signal.reason, budget.attempts);
}

/** The error of a call whose caller left while it waited to be repeated. */
function abandoned(last: CallError, reason: unknown, attempts: number): CallError {
  const { code, message } = endOfSignal(reason);
  const { rpc, target, delivery, info } = last;
  const said = `${message}; it waited to be repeated after ${last.message}`;
  return new CallError(
    { rpc, target, code, message: said, details: NO_DETAILS, delivery, byCaller: true, info, cause: last },
    attempts,
  );
}
