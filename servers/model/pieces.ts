import type { Choice, Item } from "../../gen/index.js";
import { textOf } from "../runtime/items.js";
import type { Piece } from "./define-model.js";
import { invalidOutput } from "./invalid-output.js";

/** A piece and the choice that it belongs to. */
export interface ChoicePiece {
  readonly choiceIndex: number;
  readonly piece: Piece;
}

/** What pieces of an item add up to; undefined: an item of this kind has none. A reasoning that is not shown is its summary. */
export function pieceOf({ itemId, kind }: Item): Piece | undefined {
  switch (kind.case) {
    case "chatMessage":
      return { itemId, kind: "text", text: textOf(kind.value.content) };
    case "reasoning": {
      const { content, summary } = kind.value;
      return { itemId, kind: "reasoning", text: textOf(content.length > 0 ? content : summary) };
    }
    case "toolCall":
      return { itemId, kind: "argumentsJson", text: kind.value.argumentsJson };
    default:
      return undefined;
  }
}

/** The pieces of one call that were shown, so that they add up to its answer whatever the model shows (MDL-GEN-009). */
export class Pieces {
  readonly #shown = new Map<string, string>();

  /** Notes a piece that is shown. */
  add({ choiceIndex, piece }: ChoicePiece): void {
    const name = nameOf(choiceIndex, piece);
    this.#shown.set(name, (this.#shown.get(name) ?? "") + piece.text);
  }

  /** The pieces that are missing. Throws MODEL_INVALID_OUTPUT where those that were shown are no beginning of the answer. */
  missing(choices: readonly Choice[]): ChoicePiece[] {
    const left = new Map(this.#shown);
    const missing: ChoicePiece[] = [];
    for (const { index, items } of choices) {
      for (const item of items) {
        const piece = pieceOf(item);
        if (piece === undefined) continue;
        const name = nameOf(index, piece);
        const shown = left.get(name) ?? "";
        left.delete(name);
        if (!piece.text.startsWith(shown)) {
          throw invalidOutput(
            `the pieces of item ${piece.itemId} of choice ${index} do not add up to the answer`,
          );
        }
        const text = piece.text.slice(shown.length);
        if (text !== "") missing.push({ choiceIndex: index, piece: { ...piece, text } });
      }
    }
    const [stray] = left.keys();
    if (stray !== undefined)
      throw invalidOutput("pieces of an item were shown that the answer does not have");
    return missing;
  }
}

function nameOf(choiceIndex: number, { kind, itemId }: Piece): string {
  return `${choiceIndex} ${kind} ${itemId}`;
}
