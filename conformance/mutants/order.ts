import { Retry } from "../../gen/index.js";
import { Refusal } from "../../servers/runtime/refusal.js";
import {
  around,
  aroundCalls,
  aroundStream,
  inAnswers,
  inErrors,
  instead,
  isStream,
  sessionOf,
} from "./calls.js";
import { failureOf, inErrorInfo, reasonOf } from "./errors-told.js";
import { inventedStep, inventedVerification, newName } from "./invented.js";
import type { Build, Mutant } from "./mutant.js";
import { inLedger, together } from "./seams.js";
import { inStates } from "./state.js";
import { idleAction } from "./steps.js";

/** Steps that run now, by session. */
export const knowingSteps = (handle: (running: ReadonlyMap<string, number>) => Build): Build => {
  const running = new Map<string, number>();
  const add = (id: string, n: number): void => void running.set(id, (running.get(id) ?? 0) + n);
  const counted = around("step", async ({ request }, next) => {
    add(request.sessionId, 1);
    try {
      return await next();
    } finally {
      add(request.sessionId, -1);
    }
  });
  return together(counted, handle(running));
};

/** Answers a step at once that comes while another one of its session runs. */
const overtakes = (): Build => {
  const running = new Map<string, unknown>();
  return around("step", async ({ request }, next) => {
    const other = running.get(request.sessionId);
    if (other !== undefined && other !== request.name.value) return inventedStep();
    running.set(request.sessionId, request.name.value);
    try {
      return await next();
    } finally {
      running.delete(request.sessionId);
    }
  });
};

/** Numbers verifications and steps by one counter. */
const oneCounter = (): Build => {
  const steps = new Map<string, number>();
  return together(
    around("step", async ({ request }, next) => {
      const answer = await next();
      steps.set(request.sessionId, answer.stepIndex + 1);
      return answer;
    }),
    aroundCalls((call, next) => {
      const id = sessionOf(call.request);
      const taken = call.method.localName === "verify" ? (steps.get(id) ?? 0) : 0;
      if (taken > 0)
        throw new Refusal("OUT_OF_ORDER", `the next one is ${taken}`, {
          metadata: { expected_index: String(taken) },
        });
      return next(call);
    }),
  );
};

/** Refuses what follows a failure that another index may cure. */
const nextIndexRefused = (): Build => {
  const failed = new Map<string, unknown>();
  return together(
    inErrors((error, call) => {
      if (failureOf(error)?.retry === Retry.NEXT_INDEX) failed.set(sessionOf(call.request), call.request);
      return undefined;
    }),
    inAnswers("verify", ({ event }, request) => {
      const outcome = event.case === "result" ? event.value.outcome : undefined;
      if (outcome?.case === "failure" && outcome.value.retry === Retry.NEXT_INDEX)
        failed.set(sessionOf(request), request);
    }),
    aroundCalls((call, next) => {
      const rpc = call.method.localName;
      if ((rpc === "step" || rpc === "verify") && failed.has(sessionOf(call.request)))
        throw new Refusal("SESSION_FAILED", "an earlier operation failed");
      return next(call);
    }),
  );
};

/** R3: numbered, one at a time, without gaps. */
export const orderMutants: readonly Mutant[] = [
  {
    name: "one-counter",
    clause: "ALL-ORDER-001",
    what: "numbers steps and verifications together",
    build: oneCounter(),
  },
  {
    name: "gap-accepted",
    clause: "ALL-ORDER-002",
    what: "takes a step whose number is ahead as the next one",
    build: instead(
      "step",
      (error) => reasonOf(error) === "OUT_OF_ORDER",
      (request, { ask, context }) =>
        ask("step", { ...request, name: { case: "actionId", value: newName("gap") } }, context),
    ),
  },
  {
    name: "overtakes",
    clause: "ALL-ORDER-003",
    what: "answers the next step while one runs",
    build: overtakes(),
  },
  {
    name: "failure-frees-index",
    clause: "ALL-ORDER-006",
    what: "forgets the name of what failed when other content is asked for under it",
    build: inLedger((ledger) => ({
      perform(work) {
        const known = ledger.find(work.scope, work.name);
        if (known?.outcome?.ok === false && known.fingerprint !== work.fingerprint)
          ledger.forget(work.scope, work.name);
        return ledger.perform(work);
      },
    })),
  },
  {
    name: "expected-index-wrong",
    clause: "ALL-ORDER-007",
    what: "tells a wrong expected index",
    build: inErrorInfo((info) => {
      if (info.metadata["expected_index"] !== undefined) info.metadata["expected_index"] = "7";
    }),
  },
  {
    name: "verify-beside-step",
    clause: "ALL-ORDER-008",
    what: "verifies while a step runs",
    also: ["ENV-FENC-*"],
    build: knowingSteps((running) =>
      aroundStream("verify", async function* ({ request }, next) {
        if ((running.get(sessionOf(request)) ?? 0) === 0) return yield* next();
        yield* inventedVerification();
      }),
    ),
  },
  {
    name: "refusal-uses-index",
    clause: "ALL-ORDER-010",
    what: "uses up the number of a step that it refuses",
    build: aroundCalls((call, next, ask) => {
      if (call.method.localName !== "step" || isStream(call.request)) return next(call);
      const request = call.request as unknown as { sessionId: string };
      return Promise.resolve(next(call)).catch(async (error: unknown) => {
        if (reasonOf(error) === "UNKNOWN_TOOL" || reasonOf(error) === "INVALID_FIELD")
          await ask(
            "step",
            {
              sessionId: request.sessionId,
              name: { case: "actionId", value: newName("hidden") },
              actions: [idleAction()],
            },
            call.context,
          ).catch(() => undefined);
        throw error;
      });
    }),
  },
  {
    name: "crash-keeps-going",
    clause: "ALL-ORDER-004",
    what: "goes on with a session of which a step failed for good",
    build: instead("step", (error) => reasonOf(error) === "SESSION_FAILED", inventedStep),
  },
  {
    name: "next-index-refused",
    clause: "ALL-ORDER-005",
    what: "ends a session by a failure that the next index may cure",
    build: nextIndexRefused(),
  },
  {
    name: "failed-session-forgets",
    clause: "ALL-ORDER-009",
    what: "replays nothing once an operation failed",
    build: inLedger((ledger) => ({
      perform(work) {
        if (ledger.find(work.scope, work.name)?.outcome?.ok === false)
          throw new Refusal("SESSION_FAILED", "an earlier operation failed");
        return ledger.perform(work);
      },
    })),
  },
];

/** A step that is refused does something to the world. */
const refusedStepsDo = (effect: (state: { count: number }) => void): Build =>
  inStates((states) =>
    inErrors((error, call) => {
      const state = states.get(sessionOf(call.request));
      const refused = reasonOf(error) === "UNKNOWN_TOOL" || reasonOf(error) === "INVALID_FIELD";
      if (call.method.localName === "step" && refused && state !== undefined) effect(state);
      return undefined;
    }),
  );

/** R4: what refusals do. */
export const refusalMutants: readonly Mutant[] = [
  {
    name: "refusal-changes-state",
    clause: "ALL-REFUSE-001",
    what: "changes the world by an action that it refuses",
    build: refusedStepsDo((state) => {
      state.count += 1;
    }),
  },
  {
    name: "refusal-costs-reward",
    clause: "ALL-REFUSE-003",
    what: "takes from the reward for an action that it refuses",
    build: refusedStepsDo((state) => {
      state.count -= 1;
    }),
  },
];
