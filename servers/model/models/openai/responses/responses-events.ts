import type { ModelCall, Piece } from "../../../define-model.js";
import type { Json } from "../extra.js";
import { asObject } from "../extra.js";
import { readJson } from "../read-json.js";
import { failed } from "./responses-answer.js";
import { itemIdAt } from "./responses-items.js";
import { type Entry, eventSchema } from "./responses-schema.js";

/** Events that hold a piece of an item. */
const pieces: Readonly<Record<string, Piece["kind"]>> = {
  "response.output_text.delta": "text",
  "response.refusal.delta": "text",
  "response.reasoning_text.delta": "reasoning",
  "response.function_call_arguments.delta": "argumentsJson",
};

/** Events that hold the whole answer. */
const terminals = new Set(["response.completed", "response.incomplete", "response.failed"]);

/** Reads the events of a streamed answer, shows each piece, and keeps the whole answer that one of them holds. */
export class ResponsesEvents {
  #whole: Json | undefined;
  readonly #done: Entry[] = [];

  constructor(private readonly call: Pick<ModelCall, "callId" | "onDelta">) {}

  /** The whole answer; undefined: the stream ended before it came. */
  get whole(): Json | undefined {
    if (this.#whole === undefined) return undefined;
    const { output } = this.#whole;
    // Some servers leave the entries out of it, since they came before.
    const given = Array.isArray(output) && output.length > 0;
    return given
      ? this.#whole
      : { ...this.#whole, output: this.#done.filter((entry) => entry !== undefined) };
  }

  add(value: unknown): void {
    const { type, output_index: at, delta, item, response, code } = readJson(eventSchema, value);
    const kind = pieces[type];
    if (kind !== undefined && typeof delta === "string" && delta !== "") {
      this.call.onDelta(0, { itemId: itemIdAt(this.call.callId, at ?? 0), kind, text: delta });
    } else if (type === "response.output_item.done" && item) {
      this.#done[at ?? this.#done.length] = item;
    } else if (terminals.has(type)) {
      this.#whole = asObject(response);
    } else if (type === "error") {
      throw failed(code ?? "");
    }
  }
}
