import { type AnswerMarker, findMarkers } from "./answer-markers.js";
import { type FinalAnswer, sameAnswer, unreadable } from "./answer-reading.js";
import { HEDGE, RETRACTION } from "./answer-words.js";
import { readNumberPhrase } from "./number-phrase.js";
import { scanNumber } from "./number-token.js";
import { stripMarkdown } from "./plain-text.js";
import { equals, negate } from "./rational.js";
import { quotedSpans, readTextPhrase } from "./text-phrase.js";
import { readUnmarked } from "./unmarked-answer.js";

/** Characters at the end of a message that are read, so that no message costs more than a moment. */
const MAX_READ = 100_000;

/** Most characters of a last line that are looked at; a longer one is no number alone. */
const MAX_LINE = 300;

/** What kind of answer a task has. */
export type AnswerKind = "number" | "text";

/**
 * Reads the final answer of a message as people write it. One rule holds throughout: a message has at most
 * one final answer, found without knowing the right one; a message that offers several has none.
 *
 * 1. Thinking (`<think>...</think>`) is not part of the message; of the rest the last 100,000 characters are.
 * 2. The strongest marker decides ({@link findMarkers}): `####`, `\boxed{}` and `<answer>` before "final
 *    answer", before "the answer is" and "Answer:". What stands before it is workings.
 * 3. All markers of that strength must give the same answer; two different ones are none.
 * 4. Nothing after the marked answer may contradict it: no weaker marker, no last line that is another
 *    number, no sentence that takes it back ("Actually, it is 73").
 * 5. Without a marker the last line must be nothing but the answer, or the whole message one short statement
 *    with one number, as in "Natalia sold 72 clips."; a number on the way never counts.
 *
 * A single hedged value ("probably 72", "about 72") is that value: it is the only one that can score. A bound
 * ("at least 72"), a denial ("not 72") and several candidates ("72 or 73") are not read.
 *
 * @param message what the agent said last.
 * @param expects the kind of answer to look for; absent: a number, or else a text.
 */
export function readFinalAnswer(message: string, expects?: AnswerKind): FinalAnswer {
  if (message.trim() === "") {
    return unreadable("empty", "the message is empty");
  }
  const spoken = withoutThinking(message);
  if (spoken === undefined) {
    return unreadable("no_answer", "the message ends inside its thinking");
  }
  const text = stripMarkdown(spoken.slice(-MAX_READ)).trim();
  if (text === "") {
    return unreadable("no_answer", "the message holds no words or numbers");
  }
  const answer = decide(text, expects ?? "number");
  if (expects !== undefined || answer.kind !== "unreadable") {
    return answer;
  }
  if (answer.code !== "no_answer" && answer.code !== "not_a_number") {
    return answer;
  }
  const other = decide(text, "text");
  return other.kind === "text" ? other : answer;
}

/** What follows the thinking; absent when the thinking never ends. */
function withoutThinking(message: string): string | undefined {
  const end = [...message.matchAll(/<\/think(?:ing)?>/gi)].at(-1);
  const rest = end === undefined ? message : message.slice(end.index + end[0].length);
  return /<think(?:ing)?>/i.test(rest) ? undefined : rest;
}

interface Candidate extends AnswerMarker {
  readonly reading: FinalAnswer;
}

function decide(text: string, kind: AnswerKind): FinalAnswer {
  const candidates = candidatesIn(text, kind);
  const strongest = candidates.reduce((least, { strength }) => Math.min(least, strength), Infinity);
  const deciding = candidates.filter((candidate) => candidate.strength === strongest);
  const last = deciding.at(-1);
  if (last === undefined) {
    return readUnmarked(text, kind);
  }
  const unclear = deciding.find((candidate) => candidate.reading.kind === "unreadable");
  if (unclear !== undefined) {
    return unclear.reading;
  }
  if (deciding.some((candidate) => !sameAnswer(candidate.reading, last.reading))) {
    return unreadable("several", "two different final answers");
  }
  const later = candidates.filter((candidate) => candidate.start >= last.end);
  if (
    later.some((candidate) => contradicts(candidate.reading, last.reading)) ||
    takenBack(text, last, kind)
  ) {
    return unreadable("contradicted", "another answer follows the final answer");
  }
  return last.reading;
}

/** The markers that give an answer of this kind; headings and mere talk about the answer are left out. */
function candidatesIn(text: string, kind: AnswerKind): readonly Candidate[] {
  const candidates: Candidate[] = [];
  for (const marker of findMarkers(text)) {
    const reading = kind === "number" ? readMarkedNumber(marker, text) : readMarkedText(marker);
    if (reading !== undefined) {
      candidates.push({ ...marker, reading });
    }
  }
  // "#### 1. Compute the cost" is a numbered heading, unless nothing else is marked.
  const plain = candidates.filter((candidate) => !isNumberedHeading(candidate));
  return plain.length > 0 ? plain : candidates;
}

function readMarkedNumber(marker: AnswerMarker, text: string): FinalAnswer | undefined {
  if (!marker.closed) {
    return unclosed(marker);
  }
  const bare = readNumberPhrase(marker.phrase, "bare");
  if (bare.kind === "number") {
    return bare;
  }
  const stated = readNumberPhrase(marker.phrase, "stated");
  const wordy = /^[\s#*"“]*\p{L}/u.test(marker.phrase);
  switch (marker.form) {
    case "\\boxed":
    case "<answer>":
      return stated;
    case "####":
      // A fourth-level heading starts with words; a hedge ("either 72 or 73", "not 72") is still an answer.
      return isMissing(stated) || (wordy && !HEDGE.test(marker.phrase)) ? undefined : stated;
    case "prose":
      return isMissing(stated) ? undefined : stated;
    case "heading":
      // "Answer: She sold 24 in May. In total ..." opens the workings; the last sentence states an answer.
      return isMissing(stated) || (wordy && /\d/.test(afterSentence(text, marker))) ? undefined : stated;
  }
}

function readMarkedText(marker: AnswerMarker): FinalAnswer | undefined {
  if (!marker.closed) {
    return unclosed(marker);
  }
  const isHeading = marker.form === "####" && /^(?:step|part)\b|:\s*$/iu.test(marker.phrase);
  const reading = readTextPhrase(marker.phrase, "stated");
  return isHeading || (reading.kind === "unreadable" && reading.code === "no_answer") ? undefined : reading;
}

function unclosed(marker: AnswerMarker): FinalAnswer {
  return unreadable("malformed", `${marker.form} is opened and never closed`);
}

function isMissing(reading: FinalAnswer): boolean {
  return reading.kind === "unreadable" && reading.code === "not_a_number";
}

function isNumberedHeading(marker: AnswerMarker): boolean {
  return marker.form === "####" && /^\d{1,2}[.):]\s+\p{L}/u.test(marker.phrase);
}

function contradicts(later: FinalAnswer, answer: FinalAnswer): boolean {
  return later.kind === "unreadable"
    ? later.code === "several" || later.code === "denied"
    : !sameAnswer(later, answer);
}

/** Whether a sentence after the answer replaces it, or the last line is another answer. */
function takenBack(text: string, marker: Candidate, kind: AnswerKind): boolean {
  const sentences = text.slice(marker.end - marker.phrase.length).split(/(?<=[.!?])\s+|\n+/u);
  if (sentences.some((sentence) => RETRACTION.test(sentence) && namesAnother(sentence, marker.reading))) {
    return true;
  }
  const lastLine = text.slice(marker.end).trim().split("\n").at(-1) ?? "";
  const last = readNumberPhrase(lastLine.slice(0, MAX_LINE), "bare");
  return kind === "number" && last.kind === "number" && !sameAnswer(last, marker.reading);
}

function namesAnother(sentence: string, answer: FinalAnswer): boolean {
  if (answer.kind !== "number") {
    return answer.kind === "text" && [...quotedSpans(sentence)].some((span) => span !== answer.value);
  }
  const start = [...sentence.matchAll(/(?<![\d.,_/])\d/g)].at(-1)?.index;
  const token = start === undefined ? undefined : scanNumber(sentence, start);
  if (start === undefined || token === undefined || !token.ok) {
    return false;
  }
  const negative = /(?<![\p{L}\p{N}])[-−–]\s?[$€£]?$/u.test(sentence.slice(Math.max(0, start - 4), start));
  return !equals(negative ? negate(token.value) : token.value, answer.value);
}

function afterSentence(text: string, marker: AnswerMarker): string {
  const rest = text.slice(marker.end - marker.phrase.length);
  const end = rest.search(/[.!?](?=\s)|\n/u);
  return end < 0 ? "" : rest.slice(end);
}
