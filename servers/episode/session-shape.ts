import { type AgentView, FailureKind, Retry, type SessionDescriptor, Stage } from "../../gen/index.js";
import { OperationFailure } from "../runtime/failure.js";

/** The view of the only agent of a session. Throws where there are several. */
export function soleView({ agents }: { readonly agents: readonly AgentView[] }): AgentView {
  const [view] = agents;
  if (view !== undefined && agents.length === 1) return view;
  throw unplayable(
    `expected a session with one agent, found ${agents.length}; tasks of several need another driver: multi_turn`,
  );
}

/** Throws for a task of several stages: the verdict on one of them is not the task's. */
export function checkOnePiece({ stages }: SessionDescriptor): void {
  if (stages.length < 2) return;
  throw unplayable(
    `expected a task of one piece, found ${stages.length} stages; such tasks need another driver: stages`,
  );
}

function unplayable(reason: string): OperationFailure {
  return new OperationFailure({
    kind: FailureKind.PROTOCOL_VIOLATION,
    stage: Stage.SEED,
    retry: Retry.NEVER,
    reason,
  });
}
