import { FailureKind, Retry } from "../../gen/index.js";
import { OperationFailure } from "../../servers/runtime/failure.js";

/** What a test shares with the thread: [0] tells it to go on, [1] counts what has begun. */
export interface Shared {
  readonly flags: SharedArrayBuffer;
}

/** Burns CPU until it is told to go on. */
export default function spin({ state, answer }: { readonly state: Shared; readonly answer: string }) {
  const flags = new Int32Array(state.flags);
  if (answer === "break") throw new Error("/secret/path exploded");
  if (answer === "fail") {
    throw new OperationFailure({
      kind: FailureKind.JUDGE_RATE_LIMITED,
      retry: Retry.NEXT_INDEX,
      reason: "busy judge",
    });
  }
  if (answer === "exit") process.exit(3);
  Atomics.add(flags, 1, 1);
  while (Atomics.load(flags, 0) === 0);
  return { reward: 1, diagnostics: { answer } };
}
