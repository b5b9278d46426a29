import { type TextAnswer, type UnreadableAnswer, unreadable } from "./answer-reading.js";
import { DENIAL } from "./answer-words.js";
import { stripLatex } from "./plain-text.js";
import type { PhraseStyle } from "./quantity.js";

/** Most words of a text answer on a line without marker. */
const MAX_BARE_WORDS = 8;

/** A reason after a text answer; a comma or blank must part it from the answer. */
const REASON = /,?\s+(?:because|since)\b|,\s*(?:which|as|so)\b|\s+\(/u;

/**
 * Reads the text that a phrase gives as its answer: the one quoted span, as in `The word is "olleh".`, else
 * the first sentence without its full stop.
 */
export function readTextPhrase(markup: string, style: PhraseStyle): TextAnswer | UnreadableAnswer {
  const phrase = stripLatex(markup)
    .replace(/^[\s:=#→]+/u, "")
    .trim();
  const quoted = quotedSpans(phrase);
  if (quoted.size > 1) {
    return unreadable("several", "several texts are quoted as the answer");
  }
  const [only] = quoted;
  if (only !== undefined) {
    return DENIAL.test(phrase.replace(only, ""))
      ? unreadable("denied", "the text is denied")
      : textAnswer(only);
  }
  const sentence = phrase.split(/[.!?](?=\s|$)|\n/u)[0] ?? "";
  const value = (sentence.split(REASON)[0] ?? "").trim();
  if (value === "") {
    return unreadable("no_answer", "what is given as the answer is empty");
  }
  if (style === "bare" && (value !== bareEnd(phrase) || value.split(/\s+/u).length > MAX_BARE_WORDS)) {
    return unreadable("no_answer", "the last line holds more than an answer");
  }
  return textAnswer(value);
}

/** The different texts in double quotation marks, or in single ones that enclose words. */
export function quotedSpans(text: string): ReadonlySet<string> {
  const spans = text.matchAll(/["“”]([^"“”\n]+)["“”]|(?<![\p{L}\p{N}])['‘]([^'‘’\n]+)['’](?![\p{L}\p{N}])/gu);
  return new Set([...spans].map((match) => (match[1] ?? match[2] ?? "").trim()));
}

/** Blanks are one, composed characters are one: what people cannot see apart is not told apart. */
export function textAnswer(value: string): TextAnswer {
  return { kind: "text", value: value.normalize("NFC").replace(/\s+/gu, " ").trim() };
}

function bareEnd(phrase: string): string {
  return phrase.replace(/[.!]+$/u, "").trim();
}
