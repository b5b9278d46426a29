import { type EnvironmentClient, environmentClient, instanceOf } from "../../../../clients/index.js";
import { keyHeader } from "../../../../clients/metadata.js";
import {
  Boundary,
  FailureKind,
  Retry,
  type SeedResponse,
  type SessionDescriptor,
  type Task,
} from "../../../../gen/index.js";
import type { Clock } from "../../../runtime/clock.js";
import { type Dial, type PeerEndpoint, toldBy } from "../../../runtime/dial.js";
import { OperationFailure } from "../../../runtime/failure.js";
import { newId } from "../../../runtime/identity.js";
import { failureOf } from "../../../runtime/peer-failure.js";
import { Renewals } from "../../../runtime/renewals.js";

/** Another environment server. */
export interface PartServer extends PeerEndpoint {
  /** Bearer token of its controller, where it demands one. */
  readonly credential?: string | undefined;
}

/** How parts are found, reached and renewed. */
export interface PartContext {
  readonly dial: Dial;
  readonly clock: Clock;
  /** Environment servers of the same configuration, by name. */
  readonly servers: ReadonlyMap<string, PartServer>;
}

/** What a part is begun with. */
export interface PartStart {
  readonly task: Task;
  readonly seed: bigint | undefined;
  readonly signal: AbortSignal;
}

/** Headers of all calls to a part. */
export function headersOf({ credential }: PartServer): Readonly<Record<string, string>> {
  return credential === undefined ? {} : { authorization: `Bearer ${credential}` };
}

/** What an environment at a boundary answers; whatever it fails with is told as its failure, with this boundary as a cause (R9). */
export async function ofPart<T>(call: () => Promise<T>, refused?: FailureKind): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw failureOf(error, {
      boundary: Boundary.ENVIRONMENT,
      lost: FailureKind.UNAVAILABLE,
      ...(refused === undefined ? {} : { refused }),
    });
  }
}

/** A session of another environment server: begun, kept alive at a third of its lease (E9), closed. */
export class Part {
  /** Operations that were named so far, of each kind. */
  readonly counts = { steps: 0, verifications: 0 };
  readonly #renewals: Renewals;

  private constructor(
    readonly client: EnvironmentClient,
    readonly session: SessionDescriptor,
    readonly seeded: SeedResponse,
    private readonly rolloutId: string,
    clock: Clock,
  ) {
    this.#renewals = new Renewals(clock);
    const { sessionId, lease } = session;
    this.#renewals.start({
      id: sessionId,
      boundary: Boundary.ENVIRONMENT,
      lease,
      renew: async (signal) => (await client.keepAlive({ sessionId }, { signal })).lease,
      // It says so itself to the next call that matters.
      onLost: () => {},
    });
  }

  /** Begins a session. Throws the failure of one that cannot be begun; nothing is left then. */
  static async begin(
    server: PartServer,
    { task, seed, signal }: PartStart,
    { dial, clock }: Pick<PartContext, "dial" | "clock">,
  ): Promise<Part> {
    const rolloutId = newId("facade");
    const sessionId = newId("s");
    const headers = { ...headersOf(server), [keyHeader]: rolloutId };
    const opening = environmentClient(dial(server), { headers });
    const episodeId = { rolloutId };
    try {
      let instance: string | undefined;
      const seeded = await ofPart(
        () =>
          opening.seed(
            {
              sessionId,
              context: { episodeId },
              source: { case: "task", value: task },
              wantReference: true,
              ...(seed === undefined ? {} : { seed }),
            },
            {
              signal,
              onInfo: (info) => {
                instance = instanceOf(info);
              },
            },
          ),
        FailureKind.SEED_FAILED,
      );
      const { session } = seeded;
      if (session === undefined) throw wrong("answered Seed without a session");
      const { endpoint } = session;
      const client = environmentClient(dial(endpoint === undefined ? server : toldBy(server, endpoint)), {
        headers,
        ...(instance === undefined || endpoint !== undefined ? {} : { expectInstance: instance }),
      });
      return new Part(client, session, seeded, rolloutId, clock);
    } catch (error) {
      // What may have been begun is closed: it would hold its place until its lease ends.
      await opening.close({ sessionId, episodeId }).catch(() => undefined);
      throw error;
    }
  }

  /** Ends the session. Throws where that is not confirmed; it may be tried again. */
  async close(): Promise<void> {
    this.#renewals.stopAll();
    const { sessionId } = this.session;
    const closing = this.client.close({ sessionId, episodeId: { rolloutId: this.rolloutId } });
    const { receipt } = await ofPart(() => closing);
    if (receipt?.cleanupConfirmed !== true) throw wrong("did not confirm that its session was released");
  }
}

/** The failure of a part that does not keep the contract, or does not do its work. */
export function wrong(what: string): OperationFailure {
  return new OperationFailure({
    kind: FailureKind.PROTOCOL_VIOLATION,
    retry: Retry.NEVER,
    reason: `an environment behind the facade ${what}`,
  });
}
