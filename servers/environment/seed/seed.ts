import { create } from "@bufbuild/protobuf";
import {
  FailureKind,
  type SeedRequest,
  SeedRequestSchema,
  type SeedResponse,
  SeedResponseSchema,
  type Task,
} from "../../../gen/index.js";
import { checkAnswerSize } from "../../runtime/answer-size.js";
import { fromMs } from "../../runtime/duration.js";
import { fingerprint } from "../../runtime/fingerprint.js";
import type { Delivered } from "../../runtime/ledger.js";
import { invalidField, unknownName, unsupported } from "../../runtime/refusal.js";
import type { EnvironmentContext } from "../environment-context.js";
import { worldOf } from "../environment-session.js";
import { orRelease } from "../or-release.js";
import { stageKind } from "../stages/advance.js";
import type { TaskCatalogue } from "../tasks/task-catalogue.js";
import { beginWorld } from "./begin-world.js";
import { checkRequirements } from "./check-requirements.js";
import { dataOf, type TaskReading, tryReading } from "./task-reading.js";

/** Starts a session, or finds the operation that did. */
export function seed<Data, State>(
  context: EnvironmentContext<Data, State>,
  request: SeedRequest,
  maxBytes: number,
): Delivered<SeedResponse> {
  const { definition, prepared, sessions, tokens } = context;
  const task = taskOf(context.catalogue, request);
  const { context: episode } = request;
  if (episode === undefined) throw invalidField("context", "is required");
  let reading: TaskReading<Data>;
  return sessions.create<SeedResponse>({
    id: request.sessionId,
    context: episode,
    kind: "Seed",
    fingerprint: fingerprint(SeedRequestSchema, request),
    lease: request.lease,
    timeout: request.timeout,
    check() {
      checkRequirements(task, request.agentRequirements, prepared.agentIds);
      if (request.sandboxProvider !== "") throw unknownName("sandbox_provider", request.sandboxProvider, []);
      reading = tryReading(definition, task);
    },
    async make(execution, facts) {
      const data = dataOf(reading);
      const state = await beginWorld(context, {
        sessionId: request.sessionId,
        context: episode,
        task,
        data,
        seed: request.seed,
        lease: facts.lease,
        signal: execution.signal,
      });
      const world = worldOf(state);
      const answer = await orRelease(
        context,
        { state: world.state, madeFor: { session: request.sessionId } },
        () => {
          const reference = request.wantReference
            ? (task.reference ?? definition.reference?.(data, world.state))
            : undefined;
          const answer = create(SeedResponseSchema, {
            answerId: facts.answerId,
            session: world.descriptor,
            ...(reference === undefined ? {} : { reference }),
            timeout: fromMs(facts.timeoutMs),
          });
          checkAnswerSize(SeedResponseSchema, answer, {
            limit: maxBytes,
            kind: FailureKind.SEED_FAILED,
          });
          return answer;
        },
      );
      tokens.admit(world.descriptor);
      // The first Advance is number 1.
      return { state, answer, begun: new Map([[stageKind, 1]]) };
    },
  });
}

/** The task that a Seed names. */
function taskOf(catalogue: TaskCatalogue | undefined, { source }: SeedRequest): Task {
  switch (source.case) {
    case "task":
      return source.value;
    case "taskId":
      if (catalogue === undefined) throw unsupported("TASK_LISTING", "Seed by task_id");
      return catalogue.task(source.value);
    case undefined:
      throw invalidField("source", "expected task or task_id, found neither");
  }
}
