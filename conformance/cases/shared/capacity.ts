import type { ServiceLimits } from "../../../gen/index.js";
import type { Trial } from "../../check/trial.js";
import { milliseconds } from "./durations.js";
import type { OperationEnd } from "./operation-kind.js";
import type { SessionKind, SharedSession } from "./session-kind.js";
import { type SharedSubject, sessionsOf } from "./shared-subject.js";

/** Sessions that a check is ready to open at most. */
const mostSessions = 2_048;
/** Sessions opened at once. */
const atOnce = 16;

/** A session that was asked for, and how that ended. */
export interface Asked {
  readonly session: SharedSession;
  readonly end: OperationEnd;
}

/** A subject that holds as many sessions as it takes. */
export interface Full<T extends Trial> {
  readonly kind: SessionKind<T>;
  /** Those of this check. */
  readonly held: readonly SharedSession[];
  /** Sessions that it declares to hold. */
  readonly cap: number;
  /** Longest wait for a place; 0: none. */
  readonly queueMs: number;
}

/** Asks for a new session, whatever the answer. */
export async function askSession<T extends Trial>(
  t: T,
  kind: SessionKind<T>,
  id = t.id("place"),
): Promise<Asked> {
  const session = kind.unopened(t, id);
  return { session, end: await session.created.ask() };
}

/** The cap that the subject declares; one that declares none, or too great a one, is not judged by it. */
export async function capOf<T extends Trial>(
  t: T,
  subject: SharedSubject<T>,
): Promise<{ readonly cap: number; readonly limits: ServiceLimits }> {
  const { service } = t.judge.answer("Describe", await subject.describe(t));
  const limits = service?.limits;
  const cap = limits?.maxSessions;
  if (limits === undefined || cap === undefined)
    return t.notApplicable("the subject declares no max_sessions");
  if (cap > mostSessions) t.notApplicable(`${cap} sessions are more than the suite opens`);
  return { cap, limits };
}

/** Opens sessions until the subject is full; `but` places are left. Others may hold some of its places. */
export async function fill<T extends Trial>(
  t: T,
  subject: SharedSubject<T>,
  { but = 0 }: { readonly but?: number } = {},
): Promise<Full<T>> {
  const kind = sessionsOf(subject);
  const { cap, limits } = await capOf(t, subject);
  const held: SharedSession[] = [];
  let full = false;
  while (!full && held.length < cap - but) {
    const round = Math.min(atOnce, cap - but - held.length);
    const asked = await Promise.all(Array.from({ length: round }, () => askSession(t, kind)));
    for (const { session, end } of asked) {
      if (end.status === undefined) held.push(session);
      else full = true;
    }
  }
  t.judge.that("sessions held", held.length > 0, { expected: "one at least", actual: held.length });
  return { kind, held, cap, queueMs: milliseconds(limits.queueTimeout) ?? 0 };
}
