import { clone, create } from "@bufbuild/protobuf";
import {
  Boundary,
  type EpisodeOutcome,
  type EpisodeTimings,
  EpisodeTimingsSchema,
  type Participant,
  ParticipantSchema,
} from "../../gen/index.js";
import { fromMs, toMs } from "../runtime/duration.js";
import type { EpisodeRun } from "./episode-run.js";
import { nameHere } from "./relayed-names.js";

/** Who took part in an episode that was played elsewhere: who played it, and whom that names. */
export function elsewhereParticipants({ parts, relayed }: EpisodeRun): Participant[] {
  const { service } = parts.described.relay ?? {};
  const theirs = (relayed?.outcome?.participants ?? []).map((participant) => {
    const copy = clone(ParticipantSchema, participant);
    copy.binding = nameHere(relayed?.name ?? "", participant.binding);
    return copy;
  });
  const player = create(ParticipantSchema, {
    boundary: Boundary.EPISODE,
    binding: relayed?.name ?? parts.cast.driver.name,
    ...(service?.implementation === undefined ? {} : { implementation: service.implementation }),
    instanceId: service?.instanceId ?? "",
  });
  return [player, ...theirs];
}

/** The phases as the other server timed them; the waits and clean-ups of both are added up. */
export function addTheirTimings(ours: EpisodeTimings, { timings }: EpisodeOutcome): EpisodeTimings {
  if (timings === undefined) return ours;
  const all = clone(EpisodeTimingsSchema, timings);
  for (const phase of ["queue", "check", "cleanUp"] as const) {
    const [here, there] = [ours[phase], timings[phase]];
    if (here !== undefined) all[phase] = fromMs(toMs(here) + (there === undefined ? 0 : toMs(there)));
  }
  return all;
}
