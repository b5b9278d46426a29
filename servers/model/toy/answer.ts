import { create } from "@bufbuild/protobuf";
import { type Item, ItemSchema, type Sampling } from "../../../gen/index.js";
import { textBlock } from "../../runtime/items.js";
import { marker, spell } from "./vocabulary.js";

/** What ends an answer early. */
export interface AnswerLimits {
  /** Tokens that it may have. */
  readonly tokens: number;
  readonly stop: Sampling["stop"];
  readonly stopTokenIds: Sampling["stopTokenIds"];
}

/** An answer as far as it was generated. */
export interface Answer {
  readonly items: readonly Item[];
  /** The tokens generated, those of a stop text included. */
  readonly ids: readonly number[];
  /** `whole`: nothing ended it early; `stop`: a stop text or token; `limit`: the tokens it may have. */
  readonly end: "whole" | "stop" | "limit";
}

/** An item while it is generated. */
interface Part {
  name: number[];
  text: number[];
  /** The name is behind: what follows is the rest. */
  named: boolean;
  ended: boolean;
}

/** Generates what is said, token by token, until it is whole or something ends it; `says` are the items that `ids` spell. */
export function generateAnswer(ids: readonly number[], says: readonly Item[], limits: AnswerLimits): Answer {
  const stops = limits.stop.filter((text) => text !== "").map((text) => Buffer.from(text, "utf8"));
  const parts: Part[] = [];
  const done: number[] = [];
  for (const id of ids) {
    if (done.length >= limits.tokens) {
      dropHalfCharacter(parts.at(-1), done);
      return { items: itemsOf(parts, says), ids: done, end: "limit" };
    }
    done.push(id);
    const part = take(parts, id);
    if (part !== undefined && cutAtStop(part, stops, spell(id)?.length ?? 0)) {
      return { items: itemsOf(parts, says), ids: done, end: "stop" };
    }
    if (limits.stopTokenIds.includes(id)) return { items: itemsOf(parts, says), ids: done, end: "stop" };
  }
  return { items: itemsOf(parts, says), ids: done, end: "whole" };
}

/** Adds a token to what is generated; answers the part whose text grew. */
function take(parts: Part[], id: number): Part | undefined {
  const part = parts.at(-1);
  if (part === undefined || part.ended) {
    parts.push({ name: [], text: [], named: id !== marker.toolCall, ended: false });
    return undefined;
  }
  if (id === marker.end) {
    part.ended = true;
    return undefined;
  }
  if (id === marker.name) {
    part.named = true;
    return undefined;
  }
  (part.named ? part.text : part.name).push(...(spell(id) ?? []));
  return part.named ? part : undefined;
}

/** Cuts a text before a stop text that it now holds (MDL-GEN-005). */
function cutAtStop(part: Part, stops: readonly Buffer[], grown: number): boolean {
  const text = Buffer.from(part.text);
  const places = stops
    .map((stop) => text.indexOf(stop, Math.max(0, text.length - grown - stop.length + 1)))
    .filter((place) => place >= 0);
  if (places.length === 0) return false;
  part.text.length = Math.min(...places);
  return true;
}

/** A limit never leaves half a character: its tokens, single bytes, are not generated either. */
function dropHalfCharacter(part: Part | undefined, done: number[]): void {
  const bytes = part === undefined ? [] : part.named ? part.text : part.name;
  let continuations = 0;
  while (continuations < 3 && ((bytes.at(-1 - continuations) ?? 0) & 0xc0) === 0x80) continuations += 1;
  const lead = bytes.at(-1 - continuations) ?? 0;
  const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  if (length <= continuations + 1) return;
  bytes.length -= continuations + 1;
  done.length -= continuations + 1;
}

/** The items as far as they were generated; a tool call that has no end is incomplete (MDL-TOOL-003). */
function itemsOf(parts: readonly Part[], says: readonly Item[]): Item[] {
  return parts.flatMap((part, i) => {
    const said = says[i];
    if (said === undefined) return [];
    const text = Buffer.from(part.text).toString("utf8");
    const { kind } = said;
    switch (kind.case) {
      case "chatMessage":
        return create(ItemSchema, {
          kind: { case: "chatMessage", value: { ...kind.value, content: [textBlock(text)] } },
        });
      case "reasoning":
        return create(ItemSchema, {
          kind: { case: "reasoning", value: { ...kind.value, content: [textBlock(text)] } },
        });
      case "toolCall":
        return create(ItemSchema, {
          kind: {
            case: "toolCall",
            value: {
              ...kind.value,
              name: Buffer.from(part.name).toString("utf8"),
              argumentsJson: text,
              incomplete: kind.value.incomplete || !part.ended,
            },
          },
        });
      default:
        return [];
    }
  });
}
