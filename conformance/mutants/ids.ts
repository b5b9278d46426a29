import { createHash } from "node:crypto";
import { invalidField, Refusal } from "../../servers/runtime/refusal.js";
import { around, inDescriptors, inRequests } from "./calls.js";
import type { Build, Mutant } from "./mutant.js";

const inside = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
const digest = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 16);

const groupsOnce = (): Build => {
  const groups = new Map<string, string>();
  return around("seed", async ({ request }, next) => {
    const { groupId = "", groupIndex = 0 } = request.context ?? {};
    const group = `${groupId}/${groupIndex}`;
    const known = groups.get(group);
    if (groupId !== "" && known !== undefined && known !== request.sessionId)
      throw new Refusal("OPERATION_CONFLICT", "this place of the group has a session");
    groups.set(group, request.sessionId);
    return await next();
  });
};

/** R1: callers name things. */
export const idMutants: readonly Mutant[] = [
  {
    name: "server-made-id",
    clause: "ALL-ID-001",
    what: "knows sessions by ids of its own",
    build: inRequests("keepAlive", (request) => {
      request.sessionId = `server-${digest(request.sessionId)}`;
    }),
  },
  {
    name: "empty-id-ok",
    clause: "ALL-ID-002",
    what: "makes up an id where none is given",
    build: inRequests("seed", (request) => {
      if (request.sessionId === "") request.sessionId = `made-${digest(String(Math.random()))}`;
    }),
  },
  {
    name: "grammar-unchecked",
    clause: "ALL-ID-003",
    what: "takes ids of any form",
    build: inRequests("seed", (request) => {
      if (request.sessionId !== "" && !inside.test(request.sessionId))
        request.sessionId = `made-${digest(request.sessionId)}`;
    }),
  },
  {
    name: "uuid-only-ids",
    clause: "ALL-ID-004",
    what: "refuses ids with dots, and long ones",
    build: inRequests("seed", ({ sessionId }) => {
      if (sessionId.includes(".") || (sessionId.length > 64 && inside.test(sessionId)))
        throw invalidField("session_id", "expected a UUID");
    }),
  },
  {
    name: "suffix-unchecked",
    clause: "ALL-ID-006",
    what: "takes rollout_ids that look like a later attempt's key",
    build: inRequests("seed", ({ context }) => {
      if (context?.episodeId !== undefined)
        context.episodeId.rolloutId = context.episodeId.rolloutId.replace(/-a(\d+)$/, "-b$1");
    }),
  },
  {
    name: "labels-dropped",
    clause: "ALL-ID-008",
    what: "forgets the labels of an episode",
    build: inDescriptors(({ context }) => {
      if (context !== undefined) context.labels = {};
    }),
  },
  {
    name: "group-is-key",
    clause: "ALL-ID-009",
    what: "opens one session for each place of a group",
    build: groupsOnce(),
  },
  {
    name: "rollout-id-unbounded",
    clause: "ALL-ID-010",
    what: "takes rollout_ids of any length",
    build: inRequests("seed", ({ context }) => {
      if (context?.episodeId !== undefined && context.episodeId.rolloutId.length > 96)
        context.episodeId.rolloutId = `made-${digest(context.episodeId.rolloutId)}`;
    }),
  },
];
