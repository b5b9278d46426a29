import type { DescMessage, Message } from "@bufbuild/protobuf";
import { type Duration, DurationSchema } from "@bufbuild/protobuf/wkt";
import { durationProblem } from "./duration.js";
import { findMessages } from "./find-messages.js";
import type { FieldViolation } from "./refusal.js";

const durationsOf = findMessages([DurationSchema]);

/** The durations of a request that are malformed, each by its path; they are refused, never read as something else. */
export function malformedDurations(type: DescMessage, request: Message): FieldViolation[] {
  return durationsOf(type, request).flatMap(({ path, message }) => {
    const description = durationProblem(message as Duration);
    return description === undefined ? [] : [{ field: path, description }];
  });
}
