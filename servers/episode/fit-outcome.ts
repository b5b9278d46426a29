import { clone, create } from "@bufbuild/protobuf";
import { encodedBytes } from "../../clients/channel/encode-message.js";
import {
  type Artifact,
  ArtifactSchema,
  type EpisodeOutcome,
  EpisodeOutcomeSchema,
  FailureKind,
  Retry,
  Stage,
} from "../../gen/index.js";
import { OperationFailure, toFailure } from "../runtime/failure.js";

/** Bytes that an outcome may be wrapped in. */
const wrappingBytes = 1024;

/**
 * The outcome as it can be delivered (ALL-SIZE-001): what is too large beside the score is left out, the submission
 * whole, since half of one would be scored as another; the trajectory still has what was said.
 */
export function fitOutcome(outcome: EpisodeOutcome, maxMessageBytes: number): EpisodeOutcome {
  const limit = maxMessageBytes - wrappingBytes;
  const fits = (told: EpisodeOutcome): boolean => encodedBytes(EpisodeOutcomeSchema, told) <= limit;
  if (fits(outcome)) return outcome;
  const smaller = clone(EpisodeOutcomeSchema, outcome);
  delete smaller.submission;
  if (fits(smaller)) return smaller;
  smaller.collected = smaller.collected.map(leftOut);
  if (fits(smaller)) return smaller;
  const tooLarge = new OperationFailure({
    kind: FailureKind.PROTOCOL_VIOLATION,
    stage: Stage.VERIFY,
    retry: Retry.NEVER,
    reason: `the outcome is larger than the ${limit} bytes that a message may have, even without the submission`,
  });
  return create(EpisodeOutcomeSchema, {
    ...smaller,
    outcome: { case: "failure", value: toFailure(tooLarge, { stage: Stage.VERIFY }) },
    collected: [],
  });
}

function leftOut({ name, mediaType, body }: Artifact): Artifact {
  if (body.case !== "inline") return create(ArtifactSchema, { name, mediaType, body });
  const value = `left out of the outcome: its ${body.value.length} bytes are too many for one message`;
  return create(ArtifactSchema, { name, mediaType, body: { case: "missingReason", value } });
}
