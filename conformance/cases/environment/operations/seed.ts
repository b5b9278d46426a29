import { clone } from "@bufbuild/protobuf";
import { type SeedRequest, SeedRequestSchema, type SeedResponse } from "../../../../gen/index.js";
import type { AskedOperation, OperationKind } from "../../shared/operation-kind.js";
import type { EnvironmentTrial } from "../environment-trial.js";
import { askedOperation, openOf, provocation, unaryEnd } from "./session-operation.js";

/** A Seed that can be asked, repeated and changed. */
export function askedSeed(t: EnvironmentTrial, request: SeedRequest): AskedOperation {
  const { sessionId, context } = request;
  return askedOperation(t, {
    request,
    sessionId,
    send: async (calls, asked, options) => unaryEnd(await calls.seed(asked as SeedRequest, options)),
    otherContent: () => ({ ...clone(SeedRequestSchema, request), seed: (request.seed ?? 0n) + 1n }),
    close: ({ elsewhere, ...options } = {}) =>
      (elsewhere === true ? t.elsewhere() : t.calls).close(
        { sessionId, ...(context?.episodeId === undefined ? {} : { episodeId: context.episodeId }) },
        options,
      ),
  });
}

/** Seed, as the shared rules see it. */
export const seedOperation: OperationKind<EnvironmentTrial> = {
  rpc: "Seed",
  features: [],
  failureInAnswer: false,
  creating: true,
  numbered: false,
  available: () => true,
  outcome({ answer, status }) {
    const session = (answer as SeedResponse | undefined)?.session;
    const agents = session?.agents.map(({ agentId, input, observation, tools }) => ({
      agentId,
      input,
      observation,
      tools,
    }));
    return { agents, task: session?.task, next: session?.nextAgents, code: status?.code };
  },
  badPath: (t) => (t.fixture.invalid?.task === undefined ? "" : t.fixture.invalid.task_path),
  crashText: (t) => t.may(t.fixture.crash, "environment.crash").text,
  prepare: async (t) => askedSeed(t, t.seedRequest()),
  async provoke(t, what, init) {
    const task = provocation(t, what, "task");
    return askedSeed(t, t.seedRequest({ source: { case: "task", value: task }, ...openOf(init) }));
  },
  following: async (t) => askedSeed(t, t.seedRequest()),
  instead: async (t, refused) => askedSeed(t, t.seedRequest({ sessionId: refused.sessionId })),
  besides: async (t) => askedSeed(t, t.seedRequest()),
};
