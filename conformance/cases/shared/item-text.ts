import type { Item } from "../../../gen/index.js";

/** All text of some items, the one behind the other. */
export function textOfItems(items: readonly Item[]): string {
  return items
    .flatMap(({ kind }) =>
      kind.case === "chatMessage" || kind.case === "toolResult" ? kind.value.content : [],
    )
    .map(({ kind }) => (kind.case === "text" ? kind.value : ""))
    .join("");
}
