import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { BadRequestSchema, RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.js";
import {
  type Failure,
  FailureKind,
  FailureSchema,
  Placement,
  Retry,
  Role,
  Stage,
  StopReason,
} from "../../gen/index.js";
import { OperationFailedError, OperationFailure } from "../../servers/runtime/failure.js";
import { serviceRoute } from "../../servers/runtime/grpc/index.js";
import type { HeldService } from "../../servers/runtime/held-service.js";
import { invalidField, Refusal } from "../../servers/runtime/refusal.js";
import { aroundCalls, aroundStream, inErrors, inRequests, isStream, sessionOf } from "./calls.js";
import {
  errorLike,
  failureOf,
  inErrorInfo,
  inFailures,
  reasonOf,
  withDetails,
  withoutDetail,
} from "./errors-told.js";
import type { Build, Mutant } from "./mutant.js";
import { inWorld, together } from "./seams.js";
import { callerOf } from "./state.js";

const isRefusal = (error: ConnectError): boolean => reasonOf(error) !== "";

/** Tells what the world's functions threw. */
const tellsExceptions: Build = inWorld(({ seed, verify, tools = {} }) => {
  const told = async <T>(work: () => T | Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      // Failures and tool errors are meant for callers.
      if (!(error instanceof Error) || error.constructor !== Error) throw error;
      throw new OperationFailure({ kind: FailureKind.INTERNAL, retry: Retry.NEVER, reason: error.message });
    }
  };
  return {
    seed: (start) => told(() => seed(start)),
    verify: (work) => told(() => verify(work)),
    tools: Object.fromEntries(
      Object.entries(tools).map(([name, tool]) => [
        name,
        { ...tool, run: (args, context) => told(() => tool.run(args, context)) },
      ]),
    ),
  };
});

/** Loses all sessions of a caller when one of them breaks. */
const crashTakesAll = (): Build => {
  const known = new Map<string, Set<string>>();
  const lost = new Set<string>();
  const crashed = (call: Parameters<typeof sessionOf>[0]): void => {
    for (const id of known.get(callerOf(sessionOf(call))) ?? []) lost.add(id);
  };
  return aroundCalls((call, next) => {
    const id = sessionOf(call.request);
    if (id === "" || call.method.localName === "close") return next(call);
    if (lost.has(id)) throw new Refusal("SESSION_UNKNOWN", "no session of this id is known here");
    const ids = known.get(callerOf(id)) ?? new Set();
    known.set(callerOf(id), ids.add(id));
    const answer = next(call);
    if (isStream(answer)) return answer;
    return Promise.resolve(answer).catch((error: unknown) => {
      if (failureOf(error)?.kind === FailureKind.INTERNAL) crashed(call.request);
      throw error;
    });
  });
};

/** Serves every rpc that is not implemented, by an error that nobody caught. */
const answeringUndeclared = (service: HeldService): HeldService => ({
  live: () => service.live(),
  drain: () => service.drain(),
  routes: service.routes.map((route) => {
    const broken = (): never => {
      throw new ConnectError("it broke", Code.Internal);
    };
    const all = Object.fromEntries(route.service.methods.map(({ localName }) => [localName, broken]));
    return serviceRoute(route.service, { ...all, ...route.implementation } as never);
  }),
});

/** Reads numbers that an enum does not have as its zero. */
const unknownNumbersAreZero: Build = together(
  inRequests("seed", ({ source }) => {
    const requirements = source.case === "task" ? source.value.requirements : undefined;
    if (requirements !== undefined && Placement[requirements.placement] === undefined)
      requirements.placement = Placement.UNSPECIFIED;
  }),
  inRequests("verify", ({ submission }) => {
    for (const { items, agentEnd } of submission?.agents ?? []) {
      if (agentEnd !== undefined && StopReason[agentEnd.stopReason] === undefined) agentEnd.stopReason = 1;
      for (const { kind } of items) {
        if (kind.case === "chatMessage" && Role[kind.value.role] === undefined) kind.value.role = Role.USER;
      }
    }
  }),
);

/** R4 and R9: refusals, failures, and how they are told. */
export const errorMutants: readonly Mutant[] = [
  {
    name: "no-field-violation",
    clause: "ALL-REFUSE-002",
    what: "does not name the field that it refuses",
    build: withoutDetail(BadRequestSchema),
  },
  {
    name: "unknown-as-default",
    clause: "ALL-REFUSE-004",
    what: "reads an enum number that it does not know as the default",
    build: unknownNumbersAreZero,
  },
  {
    name: "strict-unknown-fields",
    clause: "ALL-REFUSE-005",
    what: "refuses requests with fields that it does not know",
    build: aroundCalls((call, next) => {
      if (!isStream(call.request) && call.request.$unknown !== undefined)
        throw invalidField("field 999", "is not known here");
      return next(call);
    }),
  },
  {
    name: "refusal-with-failure",
    clause: "ALL-REFUSE-006",
    what: "puts a Failure into its refusals",
    build: inErrors((error) => {
      if (!isRefusal(error)) return undefined;
      const failure = create(FailureSchema, {
        kind: FailureKind.INTERNAL,
        retry: Retry.NEVER,
        stage: Stage.STEP,
      });
      const details = [...error.details, { desc: FailureSchema, value: failure }];
      return errorLike(error, { details: details as never });
    }),
  },
  {
    name: "begun-is-unavailable",
    clause: "ALL-REFUSE-008",
    what: "tells a failure with the code of a refusal",
    build: inErrors((error) =>
      failureOf(error) === undefined ? undefined : errorLike(error, { code: Code.FailedPrecondition }),
    ),
  },
  {
    name: "crash-is-unknown",
    clause: "ALL-FAIL-004",
    what: "tells an error that nobody caught as UNKNOWN",
    build: inErrors((error) =>
      failureOf(error)?.kind === FailureKind.INTERNAL
        ? new ConnectError("it broke", Code.Unknown)
        : undefined,
    ),
  },
  {
    name: "crash-kills-process",
    clause: "ALL-FAIL-005",
    what: "loses other sessions when one breaks",
    build: crashTakesAll(),
  },
  {
    name: "exception-text-leaks",
    clause: "ALL-FAIL-003",
    what: "tells the text of an error that nobody caught",
    build: tellsExceptions,
  },
  {
    name: "aborted-for-never",
    clause: "ALL-FAIL-009",
    what: "tells every failure as one that another attempt may cure",
    build: inErrors((error) =>
      failureOf(error) === undefined ? undefined : errorLike(error, { code: Code.Aborted }),
    ),
  },
  {
    name: "details-unbounded",
    clause: "ALL-FAIL-010",
    what: "tells failures of any length in a status",
    build: inErrors((error) =>
      failureOf(error) === undefined
        ? undefined
        : withDetails<Failure>(error, FailureSchema, (failure) => {
            failure.detailsJson = JSON.stringify({ text: "x".repeat(6_000) });
            return failure;
          }),
    ),
  },
  {
    name: "failure-as-status",
    clause: "ALL-FAIL-011",
    what: "ends Verify with a status where it failed",
    build: aroundStream("verify", async function* (_call, next) {
      for await (const message of next()) {
        const { event } = message;
        const outcome = event.case === "result" ? event.value.outcome : undefined;
        if (outcome?.case === "failure") throw new OperationFailedError(outcome.value, "answer");
        yield message;
      }
    }),
  },
  {
    name: "failure-without-detail",
    clause: "ALL-FAIL-013",
    what: "leaves the Failure out of the status",
    build: withoutDetail(FailureSchema, (error) => failureOf(error) !== undefined),
  },
  {
    name: "wrong-domain",
    clause: "ALL-ERR-001",
    what: "has a domain of its own in ErrorInfo",
    build: inErrorInfo((info) => {
      info.domain = "example.com";
    }),
  },
  {
    name: "wrong-code-right-reason",
    clause: "ALL-ERR-002",
    what: "tells EPISODE_MISMATCH with another code",
    also: ["ALL-CLOSE-*"],
    build: inErrors((error) =>
      reasonOf(error) === "EPISODE_MISMATCH" ? errorLike(error, { code: Code.Aborted }) : undefined,
    ),
  },
  {
    name: "metadata-key-renamed",
    clause: "ALL-ERR-007",
    what: "has keys of its own in ErrorInfo.metadata",
    also: ["ALL-ORDER-007.*", "ALL-REFUSE-*"],
    build: inErrorInfo((info) => {
      info.metadata = Object.fromEntries(
        Object.entries(info.metadata).map(([key, value]) => [`my_${key}`, value]),
      );
    }),
  },
  {
    name: "kind-unspecified",
    clause: "ALL-FAIL-001",
    what: "tells no kind of a failure",
    build: inFailures((failure) => {
      if (failure.kind === FailureKind.INTERNAL) failure.kind = FailureKind.UNSPECIFIED;
    }),
  },
  {
    name: "secret-echoed",
    clause: "ALL-FAIL-008",
    what: "repeats the credential of the call in its refusals",
    variant: "principals",
    also: ["ALL-PRIN-*", "ALL-REFUSE-*"],
    build: inErrors((error, { context }) =>
      errorLike(error, {
        message: `${error.rawMessage} (called with ${context.requestHeader.get("authorization") ?? "nothing"})`,
      }),
    ),
  },
  {
    name: "retry-unspecified",
    clause: "ALL-FAIL-012",
    what: "does not say whether a failure may be tried again",
    build: inFailures((failure) => {
      failure.retry = Retry.UNSPECIFIED;
    }),
  },
  {
    name: "stage-missing",
    clause: "ALL-FAIL-014",
    what: "does not say in which stage it failed",
    build: inFailures((failure) => {
      failure.stage = Stage.UNSPECIFIED;
    }),
  },
  {
    name: "unimplemented-bare",
    clause: "ALL-ERR-008",
    what: "has no reason for what it does not support",
    variant: "core",
    also: ["ENV-SEED-*"],
    build: inErrors((error) =>
      reasonOf(error) === "FEATURE_UNSUPPORTED"
        ? new ConnectError("not supported", Code.Unimplemented)
        : undefined,
    ),
  },
  {
    name: "undeclared-internal",
    clause: "ALL-ERR-005",
    what: "breaks where an rpc is asked for that it does not declare",
    variant: "core",
    build: (parts) => ({
      ...parts,
      around: (service) => answeringUndeclared(parts.around(service)),
    }),
  },
  {
    name: "no-retryinfo",
    clause: "ALL-ERR-003",
    what: "does not say when a place may be free",
    variant: "capacity",
    also: ["ALL-ADM-*"],
    build: withoutDetail(RetryInfoSchema),
  },
];
