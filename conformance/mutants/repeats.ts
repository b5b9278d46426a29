import { Code, ConnectError } from "@connectrpc/connect";
import { deliveryTrailer } from "../../clients/metadata.js";
import { Refusal } from "../../servers/runtime/refusal.js";
import {
  aroundCalls,
  caught,
  currentCall,
  inAnswers,
  inRequests,
  isStream,
  operationName,
  tellingCalls,
  thenDo,
} from "./calls.js";
import { reasonOf } from "./errors-told.js";
import type { Build, Mutant } from "./mutant.js";
import { inLedger, inWork, together } from "./seams.js";

const conflict = (): Refusal => new Refusal("OPERATION_CONFLICT", "asked for with other content");

/** Executes again what is known and equal, where `when` says so of its state. */
const executesAgain = (when: (state: string, failed: boolean) => boolean): Build =>
  inLedger((ledger) => ({
    perform(work) {
      const known = ledger.find(work.scope, work.name);
      const equal = known !== undefined && known.fingerprint === work.fingerprint;
      if (equal && when(known.state, known.outcome?.ok === false)) ledger.forget(work.scope, work.name);
      return ledger.perform(work);
    },
  }));

/** Refuses a call whose name was used before, where `when` says so of the two requests. */
const conflictsWhen = (when: (first: object, again: object) => boolean): Build => {
  const firsts = new Map<string, object>();
  return aroundCalls((call, next) => {
    const name = operationName(call);
    if (name === undefined || isStream(call.request)) return next(call);
    const first = firsts.get(name);
    if (first === undefined) firsts.set(name, call.request);
    else if (when(first, call.request)) throw conflict();
    return next(call);
  });
};

const compact = (json: string): string => {
  try {
    return JSON.stringify(JSON.parse(json));
  } catch {
    return json;
  }
};

/** Tells the refusal of a name again, whatever is asked under it. */
const recordsRefusals = (): Build => {
  const refused = new Map<string, unknown>();
  const record = (name: string, error: unknown): never => {
    if (error instanceof ConnectError && error.code === Code.InvalidArgument) refused.set(name, error);
    throw error;
  };
  return aroundCalls((call, next) => {
    const name = operationName(call);
    if (name === undefined) return next(call);
    if (refused.has(name)) throw refused.get(name);
    const answer = next(call);
    if (isStream(answer)) return caught(answer, (error) => record(name, error));
    return Promise.resolve(answer).catch((error: unknown) => record(name, error));
  });
};

/** Gives a repeat the timeout of the first request. */
const firstTimeoutHolds = (): Build => {
  const firsts = new Map<string, unknown>();
  return aroundCalls((call, next) => {
    const name = operationName(call);
    if (name === undefined || isStream(call.request)) return next(call);
    const request = call.request as { timeout?: unknown };
    if (!firsts.has(name)) firsts.set(name, request.timeout);
    return next({ ...call, request: { ...call.request, timeout: firsts.get(name) } as typeof call.request });
  });
};

const mapOrder = (request: object): string => {
  const { context } = request as { context?: { labels?: Record<string, string> } };
  return Object.keys(context?.labels ?? {}).join();
};

const cursor = (request: object): unknown => (request as { afterSequence?: bigint }).afterSequence;

/** R2: join, replay or conflict. */
export const repeatMutants: readonly Mutant[] = [
  {
    name: "join-executes",
    clause: "ALL-REPEAT-001",
    what: "executes a repeat of what still runs",
    build: executesAgain((state) => state === "running" || state === "waiting"),
  },
  {
    name: "re-executes-on-retry",
    clause: "ALL-REPEAT-002",
    what: "executes a repeat of what has ended",
    build: executesAgain((state, failed) => state === "ended" && !failed),
  },
  {
    name: "failure-reruns",
    clause: "ALL-REPEAT-003",
    what: "tries a failed operation again when it is asked for again",
    build: executesAgain((state, failed) => state === "ended" && failed),
  },
  {
    name: "conflict-unchecked",
    clause: "ALL-REPEAT-004",
    what: "replays the first answer to other content under its name",
    build: inWork((work) => ({ ...work, fingerprint: "any" })),
  },
  {
    name: "conflict-overwrites",
    clause: "ALL-REPEAT-005",
    what: "forgets the first answer when other content is asked for",
    build: inLedger((ledger) => ({
      perform(work) {
        try {
          return ledger.perform(work);
        } catch (error) {
          if (reasonOf(error) === "OPERATION_CONFLICT") ledger.forget(work.scope, work.name);
          throw error;
        }
      },
    })),
  },
  {
    name: "metadata-in-equality",
    clause: "ALL-REPEAT-006",
    what: "counts traceparent as content",
    build: together(
      inWork((work) => ({
        ...work,
        fingerprint: `${work.fingerprint}${currentCall()?.context.requestHeader.get("traceparent") ?? ""}`,
      })),
      tellingCalls,
    ),
  },
  {
    name: "equality-by-bytes",
    clause: "ALL-REPEAT-007",
    what: "counts the order of a map's entries as content",
    build: conflictsWhen((first, again) => mapOrder(first) !== mapOrder(again)),
  },
  {
    name: "refusal-recorded",
    clause: "ALL-REPEAT-008",
    what: "tells a refusal again to whatever is asked under its name",
    build: recordsRefusals(),
  },
  {
    name: "one-name-for-all",
    clause: "ALL-REPEAT-009",
    what: "has one space of names for operations of all kinds",
    build: inWork((work) => ({ ...work, name: work.name.replace(/^(step|verification|stage):/, "number:") })),
  },
  {
    name: "constant-answer-id",
    clause: "ALL-REPEAT-012",
    what: "gives every answer the same answer_id",
    build: together(
      inAnswers("seed", (answer) => {
        answer.answerId = "answer";
      }),
      inAnswers("step", (answer) => {
        answer.answerId = "answer";
      }),
      inAnswers("verify", ({ event }) => {
        if (event.case === "result") event.value.answerId = "answer";
      }),
    ),
  },
  {
    name: "unknown-field-conflicts",
    clause: "ALL-REPEAT-014",
    what: "counts unknown fields as content",
    build: conflictsWhen((_first, again) => "$unknown" in again && again.$unknown !== undefined),
  },
  {
    name: "cursor-conflicts",
    clause: "ALL-REPEAT-015",
    what: "counts after_sequence as content",
    build: conflictsWhen((first, again) => cursor(first) !== cursor(again)),
  },
  {
    name: "timeout-not-content",
    clause: "ALL-REPEAT-016",
    what: "replays the first answer to a repeat with another timeout",
    build: firstTimeoutHolds(),
  },
  {
    name: "json-parsed-in-equality",
    clause: "ALL-REPEAT-017",
    what: "reads JSON text before it compares",
    build: together(
      inRequests("step", ({ actions }) => {
        for (const { kind } of actions) {
          if (kind.case === "toolCall") kind.value.argumentsJson = compact(kind.value.argumentsJson);
        }
      }),
      inRequests("seed", ({ source }) => {
        if (source.case === "task") source.value.publicJson = compact(source.value.publicJson);
      }),
    ),
  },
  {
    name: "delivery-always-started",
    clause: "ALL-REPEAT-019",
    what: "says of every answer that it was started",
    build: aroundCalls((call, next) => {
      const tell = (): void => call.context.responseTrailer.set(deliveryTrailer, "started");
      const answer = next(call);
      return isStream(answer) ? thenDo(answer, tell) : Promise.resolve(answer).finally(tell);
    }),
  },
];
