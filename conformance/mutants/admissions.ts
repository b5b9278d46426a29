import type { ConnectError } from "@connectrpc/connect";
import type { Operation } from "../../servers/runtime/operation.js";
import { Refusal } from "../../servers/runtime/refusal.js";
import { around, aroundCalls, inAnswers, inDescriptors, instead, sessionOf } from "./calls.js";
import { reasonOf } from "./errors-told.js";
import { inventedStep } from "./invented.js";
import type { Build, Mutant } from "./mutant.js";
import { inAdmission, inLimits, inWork, together } from "./seams.js";

const places = 64;
const capacity = (): Refusal =>
  new Refusal("CAPACITY", "all places are taken", { metadata: { limit: "64" } });

/** An operation that nobody can leave. */
function kept<A>(operation: Operation<A>): Operation<A> {
  return new Proxy(operation, {
    get(target, key) {
      if (key === "deserted") return false;
      if (key === "withdrawn") return new AbortController().signal;
      const own = Reflect.get(target, key, target) as unknown;
      return typeof own === "function" ? own.bind(target) : own;
    },
  });
}

/** Knows how many sessions are open. */
const counting = (handle: (open: ReadonlySet<string>) => Build): Build => {
  const open = new Set<string>();
  return together(
    inDescriptors(({ sessionId }) => void open.add(sessionId)),
    handle(open),
    around("close", async ({ request }, next) => {
      const answer = await next();
      open.delete(request.sessionId);
      return answer;
    }),
  );
};

const recordsAdmission = (): Build => {
  const refused = new Map<string, unknown>();
  return around("seed", async ({ request }, next) => {
    const known = refused.get(request.sessionId);
    if (known !== undefined) throw known;
    try {
      return await next();
    } catch (error) {
      if (["CAPACITY", "ADMISSION_TIMEOUT"].includes(reasonOf(error))) refused.set(request.sessionId, error);
      throw error;
    }
  });
};

const expired = (error: ConnectError): boolean => reasonOf(error) === "ANSWER_EXPIRED";

/** R12 and R14: places, and how long answers are kept. */
export const admissionMutants: readonly Mutant[] = [
  ...(
    [
      {
        name: "capacity-not-enforced",
        clause: "ALL-ADM-001",
        what: "declares how many sessions it holds, and takes more",
        build: together(
          inLimits(() => ({ maxSessions: undefined })),
          inAnswers("describe", ({ service }) => {
            if (service?.limits !== undefined) service.limits.maxSessions = places;
          }),
        ),
      },
      {
        name: "admission-recorded",
        clause: "ALL-ADM-002",
        what: "tells again that it was full",
        build: recordsAdmission(),
      },
      {
        name: "withdrawn-still-runs",
        clause: "ALL-ADM-003",
        what: "opens a session whose caller left the queue",
        build: inWork((work) => ({
          ...work,
          admit: (operation, begin) => work.admit(kept(operation), begin),
        })),
      },
      {
        name: "replay-queued",
        clause: "ALL-ADM-004",
        what: "asks for a place again for a repeat",
        build: counting((open) =>
          around("seed", async ({ request }, next) => {
            if (open.size >= places && open.has(request.sessionId)) throw capacity();
            return await next();
          }),
        ),
      },
      {
        name: "queue-never-served",
        clause: "ALL-ADM-005",
        what: "serves nobody who waits for a place",
        build: inAdmission((original, options) => {
          const admission = original(options);
          return {
            enter(leave, ms) {
              const slot = admission.enter(leave, ms);
              if (!(slot instanceof Promise)) return slot;
              return slot.then((given) => {
                given.release();
                throw capacity();
              });
            },
          };
        }),
      },
      {
        name: "full-blocks-held",
        clause: "ALL-ADM-006",
        what: "serves no session while it is full",
        build: counting((open) =>
          aroundCalls((call, next) => {
            const rpc = call.method.localName;
            if (open.size >= places && rpc !== "close" && open.has(sessionOf(call.request))) throw capacity();
            return next(call);
          }),
        ),
      },
    ] as readonly Mutant[]
  ).map((mutant): Mutant => ({ variant: "capacity", ...mutant })),
  {
    name: "forgotten-reruns",
    clause: "ALL-REPEAT-010",
    what: "takes a step again whose answer it no longer has",
    also: ["ALL-KEEP-*"],
    build: instead("step", expired, inventedStep),
  },
  {
    name: "keeps-8-answers",
    clause: "ALL-KEEP-001",
    what: "keeps the newest eight answers of steps",
    build: inLimits(() => ({ stepAnswers: 8 })),
  },
];
