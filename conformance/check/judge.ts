import { isDeepStrictEqual } from "node:util";
import type { Failure } from "../../gen/index.js";
import type { CatalogueEntry } from "../catalogue/catalogue.js";
import type { ExpectedRefusal } from "../catalogue/requirement.js";
import { type CallStatus, type Reply, type StreamReply, statusText } from "../subject/reply.js";
import { ConnectionLost, Finding, Inconclusive, NoRoom } from "./finding.js";
import { known, show } from "./show.js";

/** How an end is told apart: a reply of any shape, or a status out of a stream of steps. */
type Ended = Pick<Reply<unknown>, "status">;

/** Assertions of one check. Each says what was judged, what is right and what came. */
export interface Judge {
  /** How many things were judged so far: a check that judges nothing is an error of the suite. */
  readonly judged: number;
  /** `actual` is `expected`: messages field for field, unknown fields apart. */
  equal<T>(what: string, actual: T, expected: T): void;
  /** `actual` differs from `other`. */
  differ<T>(what: string, actual: T, other: T): void;
  /** `condition` holds; `expected` says in words what that is, `actual` what came. */
  that(what: string, condition: boolean, told: { expected: string; actual: unknown }): void;
  /** Judges every item; no item at all is an error of the suite, for nothing would have been judged. */
  each<T>(what: string, items: Iterable<T>, one: (item: T, index: number) => void): void;
  /** The answer of a call that must succeed. */
  answer<T>(what: string, reply: Reply<T>): T;
  /** The messages of a stream that must end OK. */
  stream<T>(what: string, reply: StreamReply<T>): readonly T[];
  /**
   * The call was refused as the clause says, or as `expected` says: a code and a reason of ours, no Failure.
   * A clause that demands a refusal has its code and reason in the catalogue; nothing is assumed.
   */
  refused(what: string, reply: Ended, expected?: ExpectedRefusal): CallStatus;
  /** The refused call names this path in BadRequest, or one below it. */
  names(what: string, status: CallStatus, path: string): void;
  /** The operation was recorded as failed: ABORTED or INTERNAL, OPERATION_FAILED, its Failure in the details. */
  failed(what: string, reply: Ended): Failure;
  /** The call came to any end but a lost connection: the subject lives. For checks of what must not end it. */
  survives(what: string, reply: Ended): void;
  /** A race that the check needs was lost. */
  inconclusive(why: string): never;
}

function isStatus(value: unknown): value is CallStatus {
  return typeof value === "object" && value !== null && "detailBytes" in value && "reason" in value;
}

/** The assertions of a check of `entry`. */
export function judgeOf(entry: CatalogueEntry): Judge {
  let judged = 0;
  const fail = (what: string, expected: string, actual: string): never => {
    throw new Finding(what, expected, actual);
  };
  /** Sorts out a lost connection, which says nothing of the clause. */
  const arrives = (status: CallStatus | undefined): void => {
    if (status?.code === "UNAVAILABLE" && status.domain === "") {
      throw new ConnectionLost(`the connection was lost: ${statusText(status)}`);
    }
  };
  /** The same, and a full subject. */
  const speaks = (status: CallStatus | undefined): void => {
    arrives(status);
    if (status?.reason === "CAPACITY" || status?.reason === "ADMISSION_TIMEOUT") {
      throw new NoRoom(`the subject had no room: ${statusText(status)}`);
    }
  };
  const judge: Judge = {
    get judged() {
      return judged;
    },
    equal(what, actual, expected) {
      judged += 1;
      // A status that is judged by itself may be the connection's.
      if (isStatus(actual)) arrives(actual);
      if (!isDeepStrictEqual(known(actual), known(expected))) fail(what, show(expected), show(actual));
    },
    differ(what, actual, other) {
      judged += 1;
      if (isDeepStrictEqual(known(actual), known(other))) fail(what, "another value", show(actual));
    },
    that(what, condition, { expected, actual }) {
      judged += 1;
      if (!condition && isStatus(actual)) arrives(actual);
      if (!condition) fail(what, expected, typeof actual === "string" ? actual : show(actual));
    },
    each(what, items, one) {
      let count = 0;
      for (const item of items) one(item, count++);
      if (count === 0) throw new Error(`${what}: there was nothing to judge`);
    },
    answer(what, reply) {
      if (reply.message === undefined) {
        speaks(reply.status);
        return fail(what, "an answer", statusText(reply.status));
      }
      judged += 1;
      return reply.message;
    },
    stream(what, reply) {
      speaks(reply.status);
      judged += 1;
      if (reply.status !== undefined) fail(what, "a stream that ends OK", statusText(reply.status));
      return reply.messages;
    },
    refused(what, reply, expected = entry.expects) {
      if (expected === undefined) {
        throw new Error(`${entry.id} has no \`expects\` in the catalogue: say which refusal is right`);
      }
      judged += 1;
      const { status } = reply;
      const wanted = `${expected.code.join(" or ")}/${expected.reason.join(" or ") || "any reason"}`;
      if (status === undefined) return fail(what, wanted, "OK");
      if (!expected.reason.includes(status.reason)) speaks(status);
      const right =
        expected.code.includes(status.code) &&
        (expected.reason.length === 0 ||
          (status.domain === "touchstone" && expected.reason.includes(status.reason)));
      if (!right) return fail(what, wanted, statusText(status));
      if (status.failure !== undefined) {
        return fail(what, `${wanted} without a Failure`, `a Failure: ${status.failure.reason}`);
      }
      return status;
    },
    names(what, status, path) {
      judged += 1;
      const named = status.fields.some(
        (field) => field === path || field.startsWith(`${path}.`) || field.startsWith(`${path}[`),
      );
      if (!named) fail(what, `BadRequest naming ${path}`, status.fields.join(", ") || "no field named");
    },
    failed(what, { status }) {
      speaks(status);
      judged += 1;
      const wanted = "ABORTED or INTERNAL/OPERATION_FAILED with a Failure in the details";
      if (status === undefined) return fail(what, wanted, "OK");
      const right =
        (status.code === "ABORTED" || status.code === "INTERNAL") &&
        status.domain === "touchstone" &&
        status.reason === "OPERATION_FAILED";
      if (!right || status.failure === undefined) return fail(what, wanted, statusText(status));
      return status.failure;
    },
    survives(what, { status }) {
      judged += 1;
      const lost = status?.code === "UNAVAILABLE" && status.domain === "";
      if (lost) fail(what, "a subject that lives", statusText(status));
    },
    inconclusive(why) {
      throw new Inconclusive(why);
    },
  };
  return judge;
}
