import type { InterruptRequest } from "../../gen/index.js";
import { Refusal } from "../runtime/refusal.js";
import type { Sessions } from "../runtime/sessions.js";
import type { AgentSession } from "./agent-session.js";

/** Ends the running turn early, keeping its work; answers, once it has ended, whether it had ended before. */
export async function interrupt<Options>(
  sessions: Sessions<AgentSession<Options>>,
  { sessionId, activationIndex }: InterruptRequest,
): Promise<boolean> {
  const session = sessions.open(sessionId);
  const expected = session.begun("activation");
  if (activationIndex >= expected) {
    throw new Refusal("OUT_OF_ORDER", `activation ${activationIndex} was never begun`, {
      metadata: { expected_index: String(expected) },
    });
  }
  // AGT-INTR-003: of a turn that ended, however long ago, nothing changes.
  const operation = sessions.recorded(sessionId, { kind: "activation", index: activationIndex });
  if (operation?.state !== "running") return true;
  session.state.interrupt?.();
  await operation.settled();
  return false;
}
