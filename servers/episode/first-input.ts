import { create } from "@bufbuild/protobuf";
import { type AgentView, type Item, ItemSchema, Role } from "../../gen/index.js";

/** What an agent is told and sees first: its input unchanged, then its first observation, if there is one. */
export function firstInput({ input, observation }: AgentView): Item[] {
  if (observation === undefined) return input;
  const { items, content } = observation;
  if (content.length === 0) return [...input, ...items];
  // Blocks that are no conversation are shown on the environment's behalf.
  const shown = create(ItemSchema, { kind: { case: "chatMessage", value: { role: Role.USER, content } } });
  return [...input, ...items, shown];
}
