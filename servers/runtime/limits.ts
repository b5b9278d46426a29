import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { usualMaxMessageBytes } from "../../clients/metadata.js";
import { DurationBoundsSchema, type RetentionSchema, type ServiceLimitsSchema } from "../../gen/index.js";
import { type Bounds, fromMs } from "./duration.js";
import { keptEventBytes } from "./event-log.js";

/** Bounds of a server, declared in Describe and kept (R13, ALL-DESC-004). */
export interface Limits {
  /** Largest message taken and sent, in bytes; at least 4 MiB. */
  readonly maxMessageBytes: number;
  /** Largest blob taken, and the most that one request may refer to, in bytes (feature BLOBS). */
  readonly maxBlobBytes: number;
  /** Bytes of blobs held in all, those that are on their way here included. */
  readonly heldBlobBytes: number;
  /** Sessions held at once; undefined: no cap. */
  readonly maxSessions?: number | undefined;
  /** Longest wait for a free place, in milliseconds; 0: refused at once. */
  readonly queueTimeoutMs: number;
  /** Bounds of leases; the minimum is 10 s or less (ALL-LEASE-015). */
  readonly lease: Bounds;
  /** Age at which a session ends whatever is renewed, in milliseconds; undefined: never by age. */
  readonly maxLifetimeMs?: number | undefined;
  /** Bounds of timeouts of operations. */
  readonly timeout: Bounds;
  /** Milliseconds that receipts, tombstones and answers are kept after the end; at least 10 min. */
  readonly retentionMs: number;
  /** Newest step answers of a session that replay; at least 64. */
  readonly stepAnswers: number;
  /** Milliseconds that Close waits for work and release before it answers unconfirmed (ALL-CLOSE-014). */
  readonly closeGraceMs: number;
}

const minute = 60_000;

/** Bounds that hold where a configuration says nothing. */
export const defaultLimits: Limits = {
  maxMessageBytes: usualMaxMessageBytes,
  maxBlobBytes: 64 << 20,
  heldBlobBytes: 512 << 20,
  queueTimeoutMs: 0,
  lease: { minimumMs: 1000, defaultMs: 2 * minute, maximumMs: 60 * minute },
  timeout: { minimumMs: 1, defaultMs: 10 * minute, maximumMs: 24 * 60 * minute },
  retentionMs: 10 * minute,
  stepAnswers: 64,
  closeGraceMs: 10_000,
};

function bounds(of: Bounds): MessageInitShape<typeof DurationBoundsSchema> {
  return create(DurationBoundsSchema, {
    minimum: fromMs(of.minimumMs),
    defaultValue: fromMs(of.defaultMs),
    maximum: fromMs(of.maximumMs),
  });
}

/** The limits as Describe tells them. */
export function describeLimits(limits: Limits): MessageInitShape<typeof ServiceLimitsSchema> {
  return {
    maxMessageBytes: BigInt(limits.maxMessageBytes),
    ...(limits.maxSessions === undefined ? {} : { maxSessions: limits.maxSessions }),
    queueTimeout: fromMs(limits.queueTimeoutMs),
    lease: bounds(limits.lease),
    ...(limits.maxLifetimeMs === undefined ? {} : { maxLifetime: fromMs(limits.maxLifetimeMs) }),
    timeout: bounds(limits.timeout),
  };
}

/** The retention as Describe tells it. */
export function describeRetention(limits: Limits): MessageInitShape<typeof RetentionSchema> {
  return {
    afterEnd: fromMs(limits.retentionMs),
    stepAnswers: limits.stepAnswers,
    streamBytes: BigInt(keptEventBytes),
  };
}
