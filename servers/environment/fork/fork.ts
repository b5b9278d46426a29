import { create } from "@bufbuild/protobuf";
import {
  FailureKind,
  type ForkRequest,
  ForkRequestSchema,
  type ForkResponse,
  ForkResponseSchema,
} from "../../../gen/index.js";
import { checkAnswerSize } from "../../runtime/answer-size.js";
import { type Borrowed, borrowSession } from "../../runtime/borrow-session.js";
import { fromMs } from "../../runtime/duration.js";
import { fingerprint } from "../../runtime/fingerprint.js";
import type { Delivered } from "../../runtime/ledger.js";
import { invalidField } from "../../runtime/refusal.js";
import type { OpenSession } from "../../runtime/session.js";
import type { EnvironmentContext } from "../environment-context.js";
import { type EnvironmentSession, worldOf } from "../environment-session.js";
import { orRelease } from "../or-release.js";
import { forkSession } from "./fork-session.js";
import { sourceOf } from "./fork-source.js";

/** Copies a live session, or finds the operation that did. It shares its names with Seed (ENV-FORK-008). */
export function fork<Data, State>(
  context: EnvironmentContext<Data, State>,
  request: ForkRequest,
  maxBytes: number,
): Delivered<ForkResponse> {
  const { sessions, tokens } = context;
  const { sessionId } = request;
  if (request.context === undefined) throw invalidField("context", "is required");
  let source: OpenSession<EnvironmentSession<Data, State>>;
  let borrowed: Borrowed;
  return sessions.create<ForkResponse>({
    id: sessionId,
    context: request.context,
    kind: "Fork",
    fingerprint: fingerprint(ForkRequestSchema, request),
    lease: request.lease,
    timeout: request.timeout,
    check: () => void sourceOf(context, request),
    begin() {
      // It may have waited for its place, and its source gone on meanwhile.
      source = sourceOf(context, request);
      borrowed = borrowSession(source);
      sessions.touch(source);
    },
    async make(execution, { answerId, lease, timeoutMs }) {
      execution.signal.addEventListener("abort", () => borrowed.giveUp(), { once: true });
      try {
        const { state, descriptor } = await forkSession(context, source.state, { sessionId, lease });
        const loose = { state: worldOf(state).state, madeFor: { session: sessionId } };
        const answer = create(ForkResponseSchema, {
          answerId,
          session: descriptor,
          // ENV-FORK-007: there is no box to copy.
          sandboxCopied: false,
          timeout: fromMs(timeoutMs),
        });
        await orRelease(context, loose, () =>
          checkAnswerSize(ForkResponseSchema, answer, { limit: maxBytes, kind: FailureKind.SEED_FAILED }),
        );
        tokens.admit(descriptor);
        // Verifications are numbered for each session by itself; everything else goes on (ENV-FORK-003).
        const begun = new Map([...source.next].filter(([kind]) => kind !== "verification"));
        return { state, answer, begun };
      } finally {
        borrowed.giveBack();
      }
    },
  });
}
