import { pino } from "pino";
import { type Admission, type AdmissionOptions, createAdmission } from "./admission.js";
import { type Clock, systemClock } from "./clock.js";
import type { MessageCodec } from "./grpc/index.js";
import { newInstanceId } from "./instance.js";
import { createLedger, type Ledger } from "./ledger.js";
import { defaultLimits, type Limits } from "./limits.js";
import type { Logger } from "./log.js";
import { memoryRecords } from "./records.js";

/**
 * What the services of one server share. Clock, ledger (over its records), admission, codec and limits are seams:
 * tests, mutants and durable stores put their own in their place.
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
  /** True from SIGTERM on: nothing new is taken (R18). */
  draining: boolean;
  /** Where this server is reached; set once it listens. Empty before. */
  url: string;
}

/** A runtime; whatever is not given is the default: the machine's clock, records in memory, no logs. */
export function createRuntime(
  parts: Partial<Omit<Runtime, "limits">> & { limits?: Partial<Limits> } = {},
): Runtime {
  return {
    clock: systemClock,
    ledger: createLedger(memoryRecords()),
    admission: createAdmission,
    instanceId: newInstanceId(),
    log: pino({ level: "silent" }),
    codec: undefined,
    draining: false,
    url: "",
    ...parts,
    limits: { ...defaultLimits, ...parts.limits },
  };
}
