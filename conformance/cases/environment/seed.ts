import { milliseconds } from "../shared/durations.js";
import { environmentCheck } from "./environment-trial.js";

/** Seed: what its answer holds. */
export const seedChecks = [
  environmentCheck(
    {
      clause: "ENV-SEED-001",
      name: "descriptor",
      title: "Seed answers a descriptor with the public task identity, the context and the lease.",
      stacks: ["connect-node", "grpc-js"],
    },
    async (t) => {
      const { judge } = t;
      const { descriptor, request } = await t.open();
      const task = request.source.case === "task" ? request.source.value : undefined;
      judge.equal("session.task.task_id", descriptor.task?.taskId, task?.taskId);
      judge.equal("session.task.environment", descriptor.task?.environment, task?.environment);
      judge.equal("session.context", descriptor.context, request.context);
      judge.equal("session.session_id", descriptor.sessionId, request.sessionId);
      const lease = milliseconds(descriptor.lease?.duration);
      judge.that("session.lease.duration", lease !== undefined && lease > 0, {
        expected: "a positive duration",
        actual: descriptor.lease,
      });
    },
  ),
];
