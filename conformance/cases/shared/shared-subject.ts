import type { DescService } from "@bufbuild/protobuf";
import type { ServiceInfo } from "../../../gen/index.js";
import type { Check, CheckInit } from "../../check/check.js";
import type { Trial } from "../../check/trial.js";
import type { Reply } from "../../subject/reply.js";
import type { CallOptions } from "../../subject/subject-client.js";
import { milliseconds } from "./durations.js";
import type { AskOptions, OperationKind } from "./operation-kind.js";
import type { SessionKind } from "./session-kind.js";

/** What the shared rules need to know of a profile to judge it. */
export interface SharedSubject<T extends Trial> {
  /** Defines a check of the profile. */
  check(init: CheckInit, run: (t: T) => Promise<void>): Check<T>;
  /** The service that is judged. */
  readonly service: DescService;
  readonly operations: readonly OperationKind<T>[];
  /** Its sessions; undefined: it has none (a model without gateways). */
  readonly sessions: SessionKind<T> | undefined;
  /** Asks Describe; `bare`: without what the target requires of every call. */
  describe(
    t: T,
    options?: AskOptions & { readonly bare?: boolean },
  ): Promise<Reply<{ readonly service?: ServiceInfo | undefined }>>;
  /** Describe's bounds of timeouts, in milliseconds. */
  timeouts(t: T): { readonly minimum: number | undefined; readonly maximum: number | undefined };
}

type DescribeCall = (
  request: object,
  options?: CallOptions,
) => Promise<Reply<{ readonly service?: ServiceInfo | undefined }>>;

/** A trial of a service that says what it is. */
interface DescribedTrial extends Trial {
  readonly calls: { readonly describe: DescribeCall };
  elsewhere(): { readonly describe: DescribeCall };
  readonly described: { readonly service?: ServiceInfo | undefined };
}

/** How a service is asked what it is, and what it said of its bounds: alike in every profile. */
export function describing<T extends DescribedTrial>(
  service: DescService,
): Pick<SharedSubject<T>, "service" | "describe" | "timeouts"> {
  return {
    service,
    describe(t, { elsewhere, bare, ...options } = {}) {
      const { describe } =
        bare === true
          ? (t.connect().bare(service) as unknown as T["calls"])
          : elsewhere === true
            ? t.elsewhere()
            : t.calls;
      return describe({}, options);
    },
    timeouts(t) {
      const bounds = t.described.service?.limits?.timeout;
      return { minimum: milliseconds(bounds?.minimum), maximum: milliseconds(bounds?.maximum) };
    },
  };
}

/** Its sessions, for rules that are about them. */
export function sessionsOf<T extends Trial>({ sessions }: SharedSubject<T>): SessionKind<T> {
  if (sessions === undefined) throw new Error("a profile without sessions has no checks of them");
  return sessions;
}

/** One check for each kind of operation: the clause is judged on every rpc that has it. */
export function perOperation<T extends Trial>(
  subject: SharedSubject<T>,
  init: CheckInit & { readonly only?: (kind: OperationKind<T>) => boolean },
  run: (t: T, kind: OperationKind<T>) => Promise<void>,
): Check<T>[] {
  const { only = () => true, ...rest } = init;
  return subject.operations.filter(only).map((kind) =>
    subject.check(
      {
        ...rest,
        name: `${init.name}-${kind.rpc.replace(/(?<=[a-z])[A-Z]/g, "-$&").toLowerCase()}`,
        title: `${kind.rpc}: ${init.title}`,
        features: [...(init.features ?? []), ...kind.features],
      },
      (t) => run(t, kind),
    ),
  );
}
