import type { ServiceRoute } from "./grpc/index.js";

/** A service with what it holds: what a server of it needs to know to drain (R18). */
export interface HeldService {
  readonly routes: readonly ServiceRoute[];
  /** Sessions, gateways or episodes that are open. */
  live(): number;
  /** Ends them as Close does. */
  drain(): Promise<void>;
}
