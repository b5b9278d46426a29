import { randomBytes, randomUUID } from "node:crypto";
import type { EpisodeId } from "../../gen/index.js";

const idGrammar = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** Whether `text` is an id that a caller may give (ALL-ID-003, ALL-ID-004). */
export function isId(text: string): boolean {
  return idGrammar.test(text);
}

/** The text key of an attempt: its rollout_id, from attempt 1 on `rollout_id-a<attempt>` (ALL-ID-005). */
export function episodeKey(id: EpisodeId): string {
  return id.attempt === 0 ? id.rolloutId : `${id.rolloutId}-a${id.attempt}`;
}

/** Whether two ids name the same attempt. */
export function sameEpisode(a: EpisodeId | undefined, b: EpisodeId | undefined): boolean {
  return a?.rolloutId === b?.rolloutId && a?.attempt === b?.attempt;
}

/** A new id of 122 random bits and more, for names that nobody may guess (ALL-ID-007). */
export function newId(prefix: string): string {
  return `${prefix}-${randomBytes(18).toString("hex")}`;
}

/** A new `answer_id`: one for each execution (ALL-REPEAT-012). */
export function newAnswerId(): string {
  return randomUUID();
}

/** A new bearer token of 256 random bits. */
export function newToken(): string {
  return randomBytes(32).toString("base64url");
}
