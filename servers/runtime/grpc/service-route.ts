import type { DescService } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";

/**
 * One service and the object that implements it: what both the gRPC handler and connect-node serve.
 *
 * Make it with {@link serviceRoute}, which checks the implementation against the service.
 */
export interface ServiceRoute {
  readonly service: DescService;
  /** Methods by local name (`takeTurn` for `TakeTurn`). A missing method answers UNIMPLEMENTED. */
  readonly implementation: Partial<ServiceImpl<DescService>>;
}

/** A {@link ServiceRoute} whose implementation has been checked, by type, against its service. */
export function serviceRoute<S extends DescService>(
  service: S,
  implementation: Partial<ServiceImpl<S>>,
): ServiceRoute {
  // The methods take narrower messages than `ServiceImpl<DescService>` says; routing by path gives each its own.
  return { service, implementation: implementation as unknown as Partial<ServiceImpl<DescService>> };
}
