import { type FinalAnswer, sameAnswer, unreadable } from "./answer-reading.js";
import { GRADING } from "./answer-words.js";
import { readNumberPhrase } from "./number-phrase.js";
import { quotedSpans, readTextPhrase } from "./text-phrase.js";

/** Most characters and words of a message that is one statement, or of a last line. */
const MAX_LINE = 300;
const MAX_STATEMENT_WORDS = 20;

/** A verb that states the number after it: "Natalia sold 72 clips". */
const STATES =
  /(?:^|it['’]s|\b(?:is|are|was|were|be|equals?|makes?|made|has|have|had|gets?|got|sells?|sold|earns?|earned|needs?|needed|costs?|spends?|spent|pays?|paid|takes?|took|saves?|saved|eats?|ate|uses?|used|buys?|bought|gives?|gave|receives?|received|drives?|drove|walks?|walked|runs?|ran|reads?|weighs?|weighed|collects?|collected|totals?|occurs|appears|leaves|left|remain))(?:\s+(?:a total of|exactly|only|about|approximately|now|just))*$/iu;

/**
 * Reads the answer of a text that marks none: its last line when that is nothing but the answer, or the whole
 * text when it is one short statement. Two lines with different bare numbers are a list of candidates.
 */
export function readUnmarked(text: string, kind: "number" | "text"): FinalAnswer {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const last = (lines.at(-1) ?? "").trim();
  if (/^(?:[-*+•]|\d{1,2}[.)])\s/u.test(last)) {
    return unreadable("only_workings", "the last line is an item of a list, not an answer alone");
  }
  const only = lines.length === 1;
  if (kind === "text") {
    return readText(last, only);
  }
  const reading = last.length > MAX_LINE ? undefined : readNumberPhrase(last, "bare");
  if (reading?.kind === "number") {
    const before = readNumberPhrase((lines.at(-2) ?? "").slice(0, MAX_LINE), "bare");
    return before.kind === "number" && !sameAnswer(before, reading)
      ? unreadable("several", "the last lines are different numbers")
      : reading;
  }
  const statement = only && isStatement(last) ? readNumberPhrase(last, "stated") : undefined;
  if (statement?.kind === "number" && STATES.test(wordsBeforeNumber(last))) {
    return statement;
  }
  if (!/\d/.test(text)) {
    return unreadable("no_answer", "no answer is given: there is neither a marker nor a number");
  }
  return only &&
    reading?.kind === "unreadable" &&
    reading.code !== "not_a_number" &&
    reading.code !== "only_workings"
    ? reading
    : unreadable("only_workings", "no number is stated as the final answer; numbers on the way do not count");
}

function readText(line: string, only: boolean): FinalAnswer {
  const quoted = quotedSpans(line.slice(0, MAX_LINE));
  const style = only && quoted.size > 0 && isStatement(line.replace(/["“”]/gu, "")) ? "stated" : "bare";
  return line.length > MAX_LINE
    ? unreadable("no_answer", "no answer is given: there is no marker, and the last line is long")
    : readTextPhrase(line, style);
}

/** One plain sentence about the task: no brackets, lists or questions, and nothing about the grading. */
function isStatement(line: string): boolean {
  return (
    line.length <= MAX_LINE &&
    /^[\p{L}\p{N}$€£¥₹¢%.,'’\s/−-]+!?$/u.test(line) &&
    !/[.!]\s/u.test(line) &&
    line.split(/\s+/u).length <= MAX_STATEMENT_WORDS &&
    !GRADING.test(line)
  );
}

function wordsBeforeNumber(line: string): string {
  return line.slice(0, Math.max(0, line.search(/\.?\d/u))).replace(/[\s$€£¥₹¢−-]+$/u, "");
}
