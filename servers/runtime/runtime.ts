import { randomBytes } from "node:crypto";
import { pino } from "pino";
import { type Admission, type AdmissionOptions, createAdmission } from "./admission.js";
import type { CallObserver } from "./call-observer.js";
import { type Clock, systemClock } from "./clock.js";
import type { MessageCodec } from "./grpc/index.js";
import { newInstanceId } from "./instance.js";
import { createLedger, type Ledger } from "./ledger.js";
import { defaultLimits, type Limits } from "./limits.js";
import type { Logger } from "./log.js";
import type { Principals } from "./principals.js";
import { memoryRecords } from "./records.js";

/**
 * What the services of one server share. Clock, ledger (over its records), admission, codec and limits are seams:
 * tests and durable stores put their own in their place.
 */
export interface Runtime {
  readonly clock: Clock;
  readonly ledger: Ledger;
  readonly limits: Limits;
  /** Makes an admission with the given bounds. */
  readonly admission: (options: AdmissionOptions) => Admission;
  /** Changes whenever records were lost (R14). */
  readonly instanceId: string;
  readonly log: Logger;
  /** How messages become bytes; absent: protobuf-es. */
  readonly codec: MessageCodec | undefined;
  /** Who may call (feature PRINCIPALS); absent: everybody who reaches it, which is for loopback only. */
  readonly principals: Principals | undefined;
  /** Told of every call; absent: nobody is. */
  readonly observers: readonly CallObserver[];
  /** Seals verifier_state (32 bytes); shared by replicas that verify each other's sessions. Absent: one of this process. */
  readonly verifierKey: Uint8Array;
  /** True from SIGTERM on: nothing new is taken (R18). */
  draining: boolean;
  /** Where this server is reached; set once it listens. Empty before. */
  url: string;
}

/** A runtime; whatever is not given is the default: the machine's clock, records in memory, no logs. */
export function createRuntime(
  parts: Partial<Omit<Runtime, "limits">> & { limits?: Partial<Limits> } = {},
): Runtime {
  const { log = pino({ level: "silent" }) } = parts;
  return {
    clock: systemClock,
    ledger: createLedger(memoryRecords(), log),
    admission: createAdmission,
    instanceId: newInstanceId(),
    log,
    codec: undefined,
    principals: undefined,
    observers: [],
    verifierKey: randomBytes(32),
    draining: false,
    url: "",
    ...parts,
    limits: { ...defaultLimits, ...parts.limits },
  };
}
