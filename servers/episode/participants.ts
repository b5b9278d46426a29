import { create } from "@bufbuild/protobuf";
import {
  Boundary,
  type Implementation,
  type Participant,
  ParticipantSchema,
  type ServiceInfo,
} from "../../gen/index.js";
import type { EpisodeRun } from "./episode-run.js";
import { elsewhereParticipants } from "./relayed-outcome.js";
import { weightsVersions } from "./training.js";

/** Who took part in an episode: environment, agents, models, sandbox (EPI-OUT-001). */
export function participantsOf(run: EpisodeRun | undefined): Participant[] {
  if (run === undefined) return [];
  const { request, described } = run.parts;
  if (described.bound === undefined) return elsewhereParticipants(run);
  const { environment, agents } = described.bound;
  const list = [
    participant(
      { boundary: Boundary.ENVIRONMENT, binding: request.environment, instance: run.environment.instance },
      environment.service,
    ),
  ];
  for (const { agentId, agent: binding, model } of request.agents) {
    const says = agents.get(agentId);
    if (says === undefined) continue;
    const { harness, service } = says.agent;
    const seats = run.agents.seats.filter((known) => known.agentId === agentId);
    const seat = seats.at(-1);
    list.push(
      participant({ boundary: Boundary.AGENT, binding, instance: seat?.instance }, service, {
        agentId,
        implementation: harness,
      }),
    );
    if (says.model === undefined) continue;
    const seen = weightsVersions(seats.flatMap(({ gateway }) => gateway?.calls ?? []));
    list.push(
      participant(
        { boundary: Boundary.MODEL, binding: model, instance: seat?.gateway?.instance },
        says.model.service,
        {
          agentId,
          // Without tokens nobody knows which weights answered; what the model said of itself is the best guess.
          weightsVersions: seen.length === 0 ? [says.model.weightsVersion] : seen,
        },
      ),
    );
  }
  const box = run.environment.session?.sandbox;
  if (box === undefined) return list;
  const { implementation, instanceId } = box;
  return [
    ...list,
    create(ParticipantSchema, {
      boundary: Boundary.SANDBOX,
      binding: request.sandbox,
      ...(implementation === undefined ? {} : { implementation }),
      instanceId,
    }),
  ];
}

/** Where a server stands in the episode. */
interface Place {
  readonly boundary: Boundary;
  readonly binding: string;
  /** The instance that made what was used; undefined: the one that was asked what it is. */
  readonly instance: string | undefined;
}

function participant(
  { boundary, binding, instance }: Place,
  service: ServiceInfo | undefined,
  more: { agentId?: string; implementation?: Implementation | undefined; weightsVersions?: string[] } = {},
): Participant {
  const implementation = more.implementation ?? service?.implementation;
  return create(ParticipantSchema, {
    boundary,
    binding,
    agentId: more.agentId ?? "",
    ...(implementation === undefined ? {} : { implementation }),
    instanceId: instance ?? service?.instanceId ?? "",
    weightsVersions: more.weightsVersions ?? [],
  });
}
