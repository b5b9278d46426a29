import { type Block, type Item, type Prompt, Role, type Tool } from "../../../gen/index.js";
import { textOf } from "../../runtime/items.js";
import { Refusal } from "../../runtime/refusal.js";
import { idsOfBytes } from "../token-bytes.js";
import { marker, spell, tokenize } from "./vocabulary.js";

const roleMarkers: Readonly<Record<Role, number>> = {
  [Role.UNSPECIFIED]: marker.user,
  [Role.SYSTEM]: marker.system,
  [Role.DEVELOPER]: marker.developer,
  [Role.USER]: marker.user,
  [Role.ASSISTANT]: marker.assistant,
};

/** The tokens of an item: its marker, what it says, and the end. Ids and agent_id have none. */
export function renderItem({ kind }: Item): number[] {
  switch (kind.case) {
    case "chatMessage": {
      const { role, content, name, refusal } = kind.value;
      const opening = refusal && role === Role.ASSISTANT ? marker.refusal : roleMarkers[role];
      return [opening, ...(name === "" ? [] : named(name)), ...said(content), marker.end];
    }
    case "reasoning": {
      const { content, summary } = kind.value;
      return [marker.reasoning, ...said(content.length > 0 ? content : summary), marker.end];
    }
    case "toolCall": {
      const { name, argumentsJson } = kind.value;
      return [marker.toolCall, ...named(name), ...tokenize(argumentsJson), marker.end];
    }
    case "toolResult":
      return [
        marker.toolResult,
        ...said(kind.value.content),
        ...tokenize(kind.value.structuredJson),
        marker.end,
      ];
    case "opaque":
      return [marker.opaque, ...named(kind.value.type), ...tokenize(kind.value.json), marker.end];
    case undefined:
      return [];
  }
}

/**
 * The tokens of a prompt. With prefix_token_ids they begin with exactly those and only the rest is tokenised
 * (MDL-LOGP-003, MDL-LOGP-011). Throws PREFIX_NOT_EXTENSIBLE where they do not spell the tools and the first
 * prefix_items items; how they spell them is theirs, and the end of an item that a limit cut may be missing
 * (MDL-LOGP-004).
 */
export function renderPrompt({ items, tools, prefixTokenIds, prefixItems }: Prompt): number[] {
  const head = [marker.begin, ...tools.flatMap(renderTool)];
  const rest = items.slice(prefixItems).flatMap(renderItem);
  if (prefixItems === 0) return [...head, ...rest];
  const prefix = idsOfBytes(prefixTokenIds);
  const behind = behindPrefix(prefix, [...head, ...items.slice(0, prefixItems).flatMap(renderItem)]);
  return [...prefix, ...behind, ...rest];
}

/** What is missing behind a prefix so that it spells what it should. */
function behindPrefix(prefix: readonly number[], canonical: readonly number[]): readonly number[] {
  const wanted = canonical.flatMap((id) => spell(id) ?? []);
  let at = 0;
  prefix.forEach((id, index) => {
    const spelled = spell(id);
    if (spelled === undefined || spelled.some((symbol, i) => wanted[at + i] !== symbol)) {
      throw notExtensible(`the ids differ from the items at index ${index}`);
    }
    at += spelled.length;
  });
  const missing = wanted.slice(at);
  if (missing.length === 0 || (missing.length === 1 && missing[0] === marker.end)) return missing;
  throw notExtensible(`the ids end at index ${prefix.length}, before the items do`);
}

function notExtensible(why: string): Refusal {
  return new Refusal(
    "PREFIX_NOT_EXTENSIBLE",
    `prefix_token_ids do not render the first prefix_items items: ${why}`,
  );
}

function renderTool({ name, description, inputSchemaJson }: Tool): number[] {
  return [
    marker.tool,
    ...named(name),
    ...tokenize(description),
    marker.name,
    ...tokenize(inputSchemaJson),
    marker.end,
  ];
}

function named(name: string): number[] {
  return [...tokenize(name), marker.name];
}

function said(blocks: readonly Block[]): number[] {
  return tokenize(textOf(blocks));
}
