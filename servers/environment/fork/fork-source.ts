import { equals } from "@bufbuild/protobuf";
import { EpisodeContextSchema, type ForkRequest } from "../../../gen/index.js";
import { sameEpisode } from "../../runtime/identity.js";
import { invalidField, Refusal } from "../../runtime/refusal.js";
import type { OpenSession } from "../../runtime/session.js";
import type { EnvironmentContext } from "../environment-context.js";
import type { EnvironmentSession } from "../environment-session.js";

/** The session that a Fork copies. Throws the refusal of one that cannot be, or not as it stands (ENV-FORK-005, -006). */
export function sourceOf<Data, State>(
  { sessions }: EnvironmentContext<Data, State>,
  { sourceSessionId, context, expectedNextStepIndex }: ForkRequest,
): OpenSession<EnvironmentSession<Data, State>> {
  const source = sessions.alive(sourceSessionId);
  if (source.failed) throw sessions.failedRefusal();
  if (context === undefined || source.context === undefined) throw invalidField("context", "is required");
  if (!sameEpisode(context.episodeId, source.context.episodeId)) {
    throw new Refusal(
      "EPISODE_MISMATCH",
      "the source belongs to another episode; a fork belongs to its source's",
    );
  }
  if (!equals(EpisodeContextSchema, context, source.context)) {
    throw invalidField("context", "differs from the source's; a fork has its source's");
  }
  if (source.state.ended) throw new Refusal("EPISODE_ENDED", "the episode of the source is over");
  const expected = source.begun("step");
  if (expectedNextStepIndex !== expected) {
    throw new Refusal(
      "OUT_OF_ORDER",
      `the next step of the source is ${expected}, not ${expectedNextStepIndex}`,
      { metadata: { expected_index: String(expected) } },
    );
  }
  return source;
}
