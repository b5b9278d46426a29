import { create } from "@bufbuild/protobuf";
import { type AgentView, type Item, ItemSchema, type Observation, Role } from "../../gen/index.js";

/** What an agent is told and sees first: its input unchanged, then its first observation, if there is one. */
export function firstInput({ input, observation }: AgentView): Item[] {
  return [...input, ...shown(observation)];
}

/** What an agent sees, as entries of its conversation: blocks that are none are shown on the environment's behalf. */
export function shown(observation: Observation | undefined): Item[] {
  if (observation === undefined) return [];
  const { items, content } = observation;
  if (content.length === 0) return items;
  return [
    ...items,
    create(ItemSchema, { kind: { case: "chatMessage", value: { role: Role.USER, content } } }),
  ];
}
