import { create } from "@bufbuild/protobuf";
import { type Sampling, SamplingSchema } from "../../gen/index.js";

/** The sampling of a gateway's call: a field that the gateway fixed wins over the call's. */
export function mergeSampling(asked: Sampling | undefined, fixed: Sampling | undefined): Sampling {
  const call = asked ?? create(SamplingSchema);
  if (fixed === undefined) return call;
  return create(SamplingSchema, {
    ...call,
    // Fields with presence are own properties exactly where they are set.
    ...fixed,
    stop: fixed.stop.length > 0 ? fixed.stop : call.stop,
    stopTokenIds: fixed.stopTokenIds.length > 0 ? fixed.stopTokenIds : call.stopTokenIds,
    reasoningEffort: fixed.reasoningEffort === "" ? call.reasoningEffort : fixed.reasoningEffort,
  });
}
