import { create } from "@bufbuild/protobuf";
import {
  ClosedBy,
  type EnvironmentServiceCloseResponse,
  EnvironmentServiceCloseResponseSchema,
  type EpisodeId,
  FailureKind,
} from "../../gen/index.js";
import { Refusal } from "../../servers/runtime/refusal.js";
import { around, aroundCalls, currentCall, inAnswers, sessionOf, tellingCalls } from "./calls.js";
import { inFailures, reasonOf } from "./errors-told.js";
import type { Build, Mutant } from "./mutant.js";
import { inAdmission, together } from "./seams.js";

const closed = (
  more: { alreadyClosed?: boolean; neverOpened?: boolean } = {},
): EnvironmentServiceCloseResponse =>
  create(EnvironmentServiceCloseResponseSchema, {
    receipt: { closedBy: ClosedBy.CALLER, cleanupConfirmed: true, ...more },
  });

/** Closes are made with what the sessions were opened with at hand. */
const knowingSessions = (
  handle: (known: {
    readonly episodes: ReadonlyMap<string, EpisodeId | undefined>;
    readonly seeding: ReadonlySet<string>;
  }) => Build,
): Build => {
  const episodes = new Map<string, EpisodeId | undefined>();
  const seeding = new Set<string>();
  return together(
    around("seed", async ({ request }, next) => {
      seeding.add(request.sessionId);
      try {
        const answer = await next();
        episodes.set(request.sessionId, request.context?.episodeId);
        return answer;
      } finally {
        seeding.delete(request.sessionId);
      }
    }),
    handle({ episodes, seeding }),
  );
};

/** Fills a place for good whenever `when` says so of a call that has ended. */
export const leaksPlace = (when: (call: { rpc: string; failed: boolean }) => boolean): Build => {
  const admissions: { enter(leave: () => AbortSignal): unknown }[] = [];
  const leak = (): void => {
    for (const admission of admissions) {
      try {
        void Promise.resolve(admission.enter(() => AbortSignal.abort())).catch(() => undefined);
      } catch {
        // It is full already.
      }
    }
  };
  return together(
    inAdmission((original, options) => {
      const admission = original(options);
      admissions.push(admission);
      return admission;
    }),
    aroundCalls(async (call, next) => {
      const rpc = call.method.localName;
      if (rpc !== "seed" && rpc !== "close") return next(call);
      try {
        const answer = await next(call);
        if (when({ rpc, failed: false })) leak();
        return answer;
      } catch (error) {
        if (when({ rpc, failed: true })) leak();
        throw error;
      }
    }),
  );
};

const closeIds = (): { readonly ids: Set<string>; readonly build: Build } => {
  const ids = new Set<string>();
  return {
    ids,
    build: around("close", async ({ request }, next) => {
      const answer = await next();
      ids.add(request.sessionId);
      return answer;
    }),
  };
};

const refusesReplaysOfClosed = (): Build => {
  const { ids, build } = closeIds();
  return together(
    build,
    aroundCalls((call, next) => {
      const rpc = call.method.localName;
      if ((rpc === "step" || rpc === "verify") && ids.has(sessionOf(call.request)))
        throw new Refusal("SESSION_CLOSED", "this session was closed");
      return next(call);
    }),
  );
};

/** Leaves the place of a session taken that ends by itself. */
export const expiryLeaks: Build = together(
  inAdmission((original, options) => {
    const admission = original(options);
    return {
      async enter(leave, queueTimeoutMs) {
        const slot = await admission.enter(leave, queueTimeoutMs);
        return { release: () => (currentCall()?.method.localName === "close" ? slot.release() : undefined) };
      },
    };
  }),
  tellingCalls,
);

/** R5: Close, its receipt and its tombstone. */
export const closeMutants: readonly Mutant[] = [
  {
    name: "close-does-nothing",
    clause: "ALL-CLOSE-001",
    what: "answers a receipt and leaves the session open",
    build: knowingSessions(({ episodes }) =>
      around("close", async ({ request }, next) => (episodes.has(request.sessionId) ? closed() : next())),
    ),
  },
  {
    name: "receipt-changes",
    clause: "ALL-CLOSE-002",
    what: "counts in its receipts how often it was closed",
    build: (() => {
      let closes = 0;
      return inAnswers("close", (answer) => {
        answer.steps = ++closes;
      });
    })(),
  },
  {
    name: "close-unknown-fails",
    clause: "ALL-CLOSE-003",
    what: "refuses to close what it has never seen",
    build: knowingSessions(({ episodes, seeding }) =>
      around("close", async ({ request }, next) => {
        if (!episodes.has(request.sessionId) && !seeding.has(request.sessionId))
          throw new Refusal("SESSION_UNKNOWN", "no session of this id is known here");
        return await next();
      }),
    ),
  },
  {
    name: "no-tombstone",
    clause: "ALL-CLOSE-004",
    what: "forgets that an id was closed before it was opened",
    build: knowingSessions(({ episodes, seeding }) =>
      around("close", async ({ request }, next) =>
        episodes.has(request.sessionId) || seeding.has(request.sessionId) || request.sessionId === ""
          ? next()
          : closed({ neverOpened: true }),
      ),
    ),
  },
  {
    name: "seed-replayed-closed",
    clause: "ALL-CLOSE-005",
    what: "replays a Seed whose session was closed",
    build: (() => {
      const answers = new Map<string, unknown>();
      return around("seed", async ({ request }, next) => {
        try {
          const answer = await next();
          answers.set(request.sessionId, answer);
          return answer;
        } catch (error) {
          const known = answers.get(request.sessionId);
          if (reasonOf(error) !== "SESSION_CLOSED" || known === undefined) throw error;
          return known as Awaited<ReturnType<typeof next>>;
        }
      });
    })(),
  },
  {
    name: "close-ignores-episode",
    clause: "ALL-CLOSE-006",
    what: "lets any episode close a session",
    build: knowingSessions(({ episodes }) =>
      around("close", async ({ request }, next) => {
        const own = episodes.get(request.sessionId);
        return next(own === undefined ? request : { ...request, episodeId: own });
      }),
    ),
  },
  {
    name: "mismatch-closes-anyway",
    clause: "ALL-CLOSE-019",
    what: "refuses another episode's Close and closes all the same",
    build: knowingSessions(({ episodes }) =>
      around("close", async ({ request }, next) => {
        try {
          return await next();
        } catch (error) {
          const own = episodes.get(request.sessionId);
          if (reasonOf(error) === "EPISODE_MISMATCH" && own !== undefined)
            await next({ ...request, episodeId: own });
          throw error;
        }
      }),
    ),
  },
  {
    name: "close-does-not-wait",
    clause: "ALL-CLOSE-007",
    what: "confirms at once, and ends what runs a little later",
    build: knowingSessions(({ episodes }) =>
      around("close", async ({ request }, next) => {
        if (!episodes.has(request.sessionId)) return await next();
        setTimeout(() => void next().catch(() => undefined), 200);
        return closed();
      }),
    ),
  },
  {
    name: "close-yields-unknown",
    clause: "ALL-CLOSE-009",
    what: "records what Close ended as an unexpected error",
    build: inFailures((failure) => {
      if (failure.kind === FailureKind.CANCELLED) failure.kind = FailureKind.INTERNAL;
    }),
  },
  {
    name: "close-leaks-slot",
    clause: "ALL-CLOSE-010",
    what: "keeps the place of a session that was closed",
    variant: "capacity",
    build: leaksPlace(({ rpc, failed }) => rpc === "close" && !failed),
  },
  {
    name: "concurrent-close-fails",
    clause: "ALL-CLOSE-011",
    what: "refuses a Close while another one of the session runs",
    build: (() => {
      const closing = new Set<string>();
      return around("close", async ({ request }, next) => {
        if (closing.has(request.sessionId)) throw new Refusal("SESSION_BUSY", "it is being closed");
        closing.add(request.sessionId);
        try {
          await new Promise((resolve) => setTimeout(resolve, 20));
          return await next();
        } finally {
          closing.delete(request.sessionId);
        }
      });
    })(),
  },
  {
    name: "close-races-seed",
    clause: "ALL-CLOSE-012",
    what: "closes nothing while the session is still being made",
    build: knowingSessions(({ seeding }) =>
      around("close", async ({ request }, next) => (seeding.has(request.sessionId) ? closed() : next())),
    ),
  },
  {
    name: "claims-released",
    clause: "ALL-CLOSE-013",
    what: "says that all is released where something is left",
    build: inAnswers("close", ({ receipt }) => {
      if (receipt !== undefined) Object.assign(receipt, { cleanupConfirmed: true, left: [] });
    }),
  },
  {
    name: "close-drops-answers",
    clause: "ALL-CLOSE-015",
    what: "forgets what a session answered once it is closed",
    build: refusesReplaysOfClosed(),
  },
  {
    name: "close-gives-up",
    clause: "ALL-CLOSE-017",
    what: "does not try again to release what was left",
    build: (() => {
      const first = new Map<string, EnvironmentServiceCloseResponse>();
      return around("close", async ({ request }, next) => {
        const known = first.get(request.sessionId);
        if (known?.receipt?.cleanupConfirmed === false)
          return { ...known, receipt: { ...known.receipt, alreadyClosed: true } };
        const answer = await next();
        first.set(request.sessionId, answer);
        return answer;
      });
    })(),
  },
  {
    name: "receipt-empty",
    clause: "ALL-CLOSE-018",
    what: "counts nothing in its receipts",
    build: inAnswers("close", (answer) => {
      answer.steps = 0;
      answer.verifications = 0;
    }),
  },
];
