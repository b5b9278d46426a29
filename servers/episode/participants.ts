import { create } from "@bufbuild/protobuf";
import {
  Boundary,
  type Implementation,
  type Participant,
  ParticipantSchema,
  type ServiceInfo,
} from "../../gen/index.js";
import type { EpisodeRun } from "./episode-run.js";
import { weightsVersions } from "./training.js";

/** Who took part in an episode: environment, agents, models, sandbox (EPI-OUT-001). */
export function participantsOf(run: EpisodeRun): Participant[] {
  const { request, described } = run.parts;
  const list = [participant(Boundary.ENVIRONMENT, request.environment, described.environment.service)];
  for (const { agentId, agent: binding, model } of request.agents) {
    const says = described.agents.get(agentId);
    if (says === undefined) continue;
    const { harness, service } = says.agent;
    list.push(participant(Boundary.AGENT, binding, service, { agentId, implementation: harness }));
    if (says.model === undefined) continue;
    const calls = run.agents.seats.find((seat) => seat.agentId === agentId)?.gateway?.calls ?? [];
    const seen = weightsVersions(calls);
    list.push(
      participant(Boundary.MODEL, model, says.model.service, {
        agentId,
        // Without tokens nobody knows which weights answered; what the model said of itself is the best guess.
        weightsVersions: seen.length === 0 ? [says.model.weightsVersion] : seen,
      }),
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

function participant(
  boundary: Boundary,
  binding: string,
  service: ServiceInfo | undefined,
  more: { agentId?: string; implementation?: Implementation | undefined; weightsVersions?: string[] } = {},
): Participant {
  const implementation = more.implementation ?? service?.implementation;
  return create(ParticipantSchema, {
    boundary,
    binding,
    agentId: more.agentId ?? "",
    ...(implementation === undefined ? {} : { implementation }),
    instanceId: service?.instanceId ?? "",
    weightsVersions: more.weightsVersions ?? [],
  });
}
