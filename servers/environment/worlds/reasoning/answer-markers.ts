import { HYPOTHETICAL } from "./answer-words.js";

/** Most characters of a phrase that are looked at. */
const MAX_PHRASE = 300;

/**
 * How strongly a message marks its answer. The strongest marker in a message decides:
 * 1. the formal ones, `#### 72`, `\boxed{72}` and `<answer>72</answer>`;
 * 2. "final answer: 72";
 * 3. "the answer is 72", "Answer: 72".
 */
export type MarkerStrength = 1 | 2 | 3;

/** A place where a message says that its answer follows. */
export interface AnswerMarker {
  readonly strength: MarkerStrength;
  /** How the marker shows in the message. */
  readonly form: "####" | "\\boxed" | "<answer>" | "prose" | "heading";
  /** What stands where the answer belongs, with its markup; at most 300 characters. */
  readonly phrase: string;
  /** Where the marker starts and where its phrase ends, as indexes into the text. */
  readonly start: number;
  readonly end: number;
  /** False for a `\boxed{` or `<answer>` that the message never closes. */
  readonly closed: boolean;
}

/** All markers in a text whose Markdown is stripped, in the order of the text. */
export function findMarkers(text: string): readonly AnswerMarker[] {
  const markers = [...hashMarkers(text), ...boxedMarkers(text), ...tagMarkers(text), ...proseMarkers(text)];
  return markers.sort((a, b) => a.start - b.start);
}

function* hashMarkers(text: string): Generator<AnswerMarker> {
  for (const match of text.matchAll(/(?<!#)####(?!#)[ \t]{0,8}/g)) {
    const skip = match[0].length;
    // Several on one line are several markers.
    const [phrase = ""] = text.slice(match.index + skip, match.index + skip + MAX_PHRASE).split(/\n|####/, 1);
    yield marker(match, { strength: 1, form: "####", phrase, skip });
  }
}

function* boxedMarkers(text: string): Generator<AnswerMarker> {
  let done = 0;
  for (const match of text.matchAll(/\\f?box(?:ed)?\s*\{/g)) {
    // A box inside a box is the outer one's answer.
    if (match.index < done) {
      continue;
    }
    const skip = match[0].length;
    const length = closingBrace(text, match.index + skip) - (match.index + skip);
    const closed = length >= 0;
    const phrase = text.slice(match.index + skip).slice(0, closed ? length : MAX_PHRASE);
    const found = marker(match, { strength: 1, form: "\\boxed", phrase, skip, closed });
    done = found.end;
    yield found;
  }
}

/** Index of the brace that closes the one before `from`, within the length of a phrase; -1 without one. */
function closingBrace(text: string, from: number): number {
  let depth = 1;
  for (let at = from; at < text.length && at <= from + MAX_PHRASE; at += 1) {
    const character = text.charAt(at);
    if (character === "\\") {
      at += 1;
    } else if (character === "{") {
      depth += 1;
    } else if (character === "}") {
      depth -= 1;
      if (depth === 0) {
        return at;
      }
    }
  }
  return -1;
}

function* tagMarkers(text: string): Generator<AnswerMarker> {
  for (const match of text.matchAll(/<answer>/gi)) {
    const skip = match[0].length;
    const rest = text.slice(match.index + skip, match.index + skip + MAX_PHRASE + 20);
    const length = rest.search(/<\/answer>/i);
    const phrase = length < 0 ? rest : rest.slice(0, length).trim();
    yield marker(match, { strength: 1, form: "<answer>", phrase, skip, closed: length >= 0 });
  }
}

// "answer:", "answer (in dollars):"; at the start of a line also "answer in dollars:".
const COLON = /^(?:\s*\([^()\n\d]{0,30}\))?["”]?\s*[:=]\s*/u;
const UNIT_AND_COLON = /^\s+(?:in|to|for)\b[\p{L} ]{1,40}[:=]\s*/u;
const LINE_START = /^[\s"“*-]*(?:(?:the|my|our|so|correct)\s+)*$/iu;
// "answer is", "answer to the question is". No digit may stand between the word and its verb, so that "the
// answer to part 1 is 24" marks nothing.
const VERB =
  /^[^.:=?!\n\d]{0,60}?\b(?:is|are|was|would be|will be|must be|should be|equals|comes to|becomes)\b\s*[:=]?\s*/u;

function* proseMarkers(text: string): Generator<AnswerMarker> {
  for (const match of text.matchAll(/\b(final[\s_]{1,3})?ans(?:wers?)?\b/giu)) {
    const before =
      text
        .slice(Math.max(0, match.index - MAX_PHRASE), match.index)
        .split("\n")
        .at(-1) ?? "";
    const after = match.index + match[0].length;
    const tail = text.slice(after, after + 2 * MAX_PHRASE);
    const line = tail.split("\n", 1)[0] ?? "";
    const colon = COLON.exec(line) ?? (LINE_START.test(before) ? UNIT_AND_COLON.exec(line) : null);
    const link = colon ?? VERB.exec(line);
    if (
      HYPOTHETICAL.test(before) ||
      (link === null && (line.trim() !== "" || !/^[\s\p{L}]*$/u.test(before)))
    ) {
      continue;
    }
    const isJson = /^["”]/u.test(colon?.[0] ?? "");
    const rest = ownValue(line.slice(link?.[0].length ?? 0), isJson);
    const strength = match[1] === undefined ? 3 : 2;
    if (/[\p{L}\p{N}\\]/u.test(rest)) {
      const skip = match[0].length + (link?.[0].length ?? 0);
      yield marker(match, { strength, form: colon === null ? "prose" : "heading", phrase: rest, skip });
      continue;
    }
    // The answer stands on the next line that is not empty; "- 72" there may be an item or a negative number.
    const next = isJson ? null : /\n\s*((?![-–+*•]\s)[^\n]+)/u.exec(tail);
    if (next?.[1] !== undefined) {
      const skip = match[0].length + next.index + next[0].length - next[1].length;
      yield marker(match, { strength, form: "heading", phrase: next[1], skip });
    }
  }
}

/** What belongs to a marker on its own line: all of it, or the value of a JSON key such as `"answer": 72`. */
function ownValue(line: string, isJson: boolean): string {
  return isJson ? (/^\s*(?:"(?:[^"\\]|\\.)*"|[^,}\]]*)/u.exec(line)?.[0] ?? "") : line;
}

interface Found {
  readonly strength: MarkerStrength;
  readonly form: AnswerMarker["form"];
  readonly phrase: string;
  /** Characters from the marker's start to its phrase. */
  readonly skip: number;
  readonly closed?: boolean;
}

function marker(match: RegExpExecArray, found: Found): AnswerMarker {
  const phrase = found.phrase.slice(0, MAX_PHRASE);
  const { strength, form, closed = true } = found;
  return {
    strength,
    form,
    phrase,
    closed,
    start: match.index,
    end: match.index + found.skip + phrase.length,
  };
}
