import { create } from "@bufbuild/protobuf";
import { Feature, type ServiceInfo, ServiceInfoSchema } from "../../gen/index.js";
import { describeLimits, describeRetention } from "./limits.js";
import type { Runtime } from "./runtime.js";

/** Revision of the contract that these servers are written against (ALL-DESC-013). */
export const contractVersion = "1.0";

/** Name and version of an implementation, and what it can beside the core. */
export interface Described {
  readonly name: string;
  readonly version: string;
  readonly features: readonly Feature[];
}

/** What every service's Describe answers first (R13): the same at every call, the drain state apart. */
export function serviceInfo(runtime: Runtime, described: Described): ServiceInfo {
  return create(ServiceInfoSchema, {
    implementation: { name: described.name, version: described.version },
    contractVersion,
    instanceId: runtime.instanceId,
    draining: runtime.draining,
    features: [...(runtime.principals === undefined ? [] : [Feature.PRINCIPALS]), ...described.features],
    limits: describeLimits(runtime.limits),
    retention: describeRetention(runtime.limits),
  });
}
