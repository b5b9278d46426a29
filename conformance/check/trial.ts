import type { CatalogueEntry } from "../catalogue/catalogue.js";
import { type Connection, openConnection, type Stack, type Target } from "../subject/connection.js";
import type { Seen } from "../subject/seen.js";
import type { WireLog } from "../subject/wire-log.js";
import { Finding, MissingFixture, NotApplicable } from "./finding.js";
import { type Judge, judgeOf } from "./judge.js";
import type { OwnProcess } from "./own-process.js";

/** What every check works with, whatever its profile. */
export interface Trial {
  /** Assertions. */
  readonly judge: Judge;
  /** Ends with the check, or with its watchdog. */
  readonly signal: AbortSignal;
  /** Where the subject is, for what goes beside a connection. */
  readonly target: Target;
  /** Library that this run of the check speaks with. */
  readonly stack: Stack;
  /** An id that nobody else has, inside the id grammar; `label` makes logs readable. */
  id(label: string): string;
  /** A connection of its own, cut when the check ends. */
  connect(stack?: Stack): Connection;
  /** A connection to somewhere that the subject named, cut when the check ends. */
  connectTo(place: { readonly url: string; readonly caPem: string }): Connection;
  /** The check's own process, which its connections go to: in the lane `process` alone. */
  process(): OwnProcess;
  /** A line of conformance.yaml that must be there: without it the clause is not-testable, a failure. */
  must<T>(value: T, path: string): NonNullable<T>;
  /** A line that need not be there: without it the check is listed as needs-input. */
  may<T>(value: T, path: string): NonNullable<T>;
  /** The clause does not arise for this subject, for a reason that its conditions do not tell. */
  notApplicable(why: string): never;
  /** Something that the contract leaves to the subject: recorded and shown, never scored. */
  observe(name: string, value: string): void;
  /**
   * What must come within `seconds` (times the time scale) by the contract itself; later is a finding. A bound that is
   * only the suite's patience is the check's watchdog instead.
   */
  within<T>(what: string, seconds: number, come: Promise<T>): Promise<T>;
  /** Waits for real time to pass: for leases and timeouts, in checks of the lane `waiting`. */
  pause(milliseconds: number, until?: AbortSignal): Promise<void>;
}

/** What the runner gives a trial. */
export interface TrialContext {
  readonly entry: CatalogueEntry;
  /** Where its next connection goes. */
  readonly target: Target;
  readonly stack: Stack;
  readonly signal: AbortSignal;
  /** The check's own process; undefined outside the lane `process`. */
  readonly process: OwnProcess | undefined;
  readonly log: WireLog;
  /** Unique within the subject's life. */
  readonly prefix: string;
  /** Factor on every bound. */
  readonly timeScale: number;
  /** Hears everything that its connections see. */
  readonly onSeen: (seen: Seen) => void;
}

/** A trial whose connections, ids and log are its own. */
export function openTrial(context: TrialContext): {
  readonly trial: Trial;
  readonly observed: Map<string, string>;
  readonly connections: readonly Connection[];
} {
  const { entry, log, prefix, signal } = context;
  const connections: Connection[] = [];
  const observed = new Map<string, string>();
  let ids = 0;
  const missing = (path: string, mandatory: boolean): never => {
    throw new MissingFixture(path, mandatory);
  };
  const connected = (target: Target, stack: Stack): Connection => {
    const number = connections.length;
    const connection = openConnection({ target, stack, number, log, signal, onSeen: context.onSeen });
    connections.push(connection);
    return connection;
  };
  const trial: Trial = {
    judge: judgeOf(entry),
    signal,
    target: context.target,
    stack: context.stack,
    process() {
      if (context.process === undefined) throw new Error("a check of the lane `process` alone has a process");
      return context.process;
    },
    id: (label) => `${prefix}-${label}-${ids++}`,
    connect: (stack = context.stack) => connected(context.target, stack),
    connectTo({ url, caPem }) {
      const tls = { ...context.target.tls, ...(caPem === "" ? {} : { ca: Buffer.from(caPem) }) };
      return connected({ ...context.target, url, tls }, context.stack);
    },
    must: (value, path) => value ?? missing(path, true),
    may: (value, path) => value ?? missing(path, false),
    notApplicable(why) {
      throw new NotApplicable(why);
    },
    async within(what, seconds, come) {
      const bound = seconds * context.timeScale;
      const timeout = new AbortController();
      const late = trial.pause(bound * 1_000, timeout.signal).then(() => {
        throw new Finding(what, `within ${bound} s`, "nothing until then");
      });
      late.catch(() => undefined);
      try {
        return await Promise.race([come, late]);
      } finally {
        timeout.abort();
      }
    },
    observe: (name, value) => void observed.set(name, value),
    pause: (milliseconds, until = signal) =>
      new Promise((resolve, reject) => {
        const ends = AbortSignal.any([signal, until]);
        const timer = setTimeout(resolve, milliseconds);
        ends.addEventListener("abort", () => {
          clearTimeout(timer);
          reject(ends.reason as Error);
        });
      }),
  };
  return { trial, observed, connections };
}
