import { Code, ConnectError } from "@connectrpc/connect";
import {
  Health as HealthService,
  HealthCheckResponse_ServingStatus as ServingStatus,
} from "../../../gen/grpc/health/v1/health_pb.js";
import { type ServiceRoute, serviceRoute } from "../grpc/service-route.js";

/** `grpc.health.v1.Health` with the states it tells. */
export interface Health {
  /** Add it to the routes of the port. */
  readonly route: ServiceRoute;
  /**
   * Sets the state of one service (its full name), or of the server as a whole (the empty name). Watchers are told.
   * A service that was not known is known from then on.
   */
  setServing(service: string, serving: boolean): void;
  /**
   * Everything is NOT_SERVING from now on, whatever is set; open Watch calls are told and end with UNAVAILABLE, so
   * that they do not use up the grace of a drain. Call it before closing the port.
   */
  close(): void;
}

/**
 * The health of a server and its services.
 *
 * @param services - Full names of the services; they and the server as a whole are SERVING at first.
 */
export function createHealth(services: readonly string[]): Health {
  const states = new Map<string, ServingStatus>(
    ["", ...services].map((name) => [name, ServingStatus.SERVING]),
  );
  const watchers = new Set<() => void>();
  let closed = false;

  function tellWatchers(): void {
    for (const wake of watchers) wake();
  }

  /** Resolves at the next change of any state, or when the call ends. */
  function nextChange(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        watchers.delete(wake);
        signal.removeEventListener("abort", wake);
        resolve();
      };
      watchers.add(wake);
      signal.addEventListener("abort", wake);
      if (signal.aborted) wake();
    });
  }

  const route = serviceRoute(HealthService, {
    check({ service }) {
      const status = states.get(service);
      if (status === undefined) {
        throw new ConnectError(
          `expected a service of this server, found "${service}"; List tells the names`,
          Code.NotFound,
        );
      }
      return { status };
    },
    list() {
      return { statuses: Object.fromEntries([...states].map(([name, status]) => [name, { status }])) };
    },
    async *watch({ service }, { signal }) {
      let told: ServingStatus | undefined;
      while (!signal.aborted) {
        const status = states.get(service) ?? ServingStatus.SERVICE_UNKNOWN;
        if (status !== told) {
          told = status;
          yield { status };
        } else if (closed) {
          throw new ConnectError("the server is shutting down", Code.Unavailable);
        } else {
          await nextChange(signal);
        }
      }
      throw signal.reason;
    },
  });

  return {
    route,
    setServing(service, serving) {
      if (closed) return;
      states.set(service, serving ? ServingStatus.SERVING : ServingStatus.NOT_SERVING);
      tellWatchers();
    },
    close() {
      closed = true;
      for (const name of states.keys()) states.set(name, ServingStatus.NOT_SERVING);
      tellWatchers();
    },
  };
}
