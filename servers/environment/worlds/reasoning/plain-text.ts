/** LaTeX commands that only dress their argument. */
const WRAPPER =
  /\\(?:text(?:bf|it|rm|tt)?|math(?:bf|it|rm|sf)|operatorname|mbox|boxed|fbox|underline|emph)\s*\{([^{}]*)\}/g;

/** LaTeX commands that stand for a character or for nothing. */
const SYMBOLS: Readonly<Record<string, string>> = {
  times: "×",
  cdot: "·",
  div: "÷",
  approx: "≈",
  circ: "°",
  degree: "°",
  left: "",
  right: "",
  displaystyle: "",
  quad: " ",
  qquad: " ",
};

/** Stands for a dollar that is money while the dollars of maths mode are removed. */
const MONEY = "\uE000";

/** An escaped character: what it shows. `\,` is the thin space that groups digits. */
const ESCAPES: Readonly<Record<string, string>> = {
  $: MONEY,
  "%": "%",
  "#": "#",
  "&": "&",
  _: "_",
  "{": "(",
  "}": ")",
  ",": "\u2009",
  ";": " ",
  ":": " ",
  " ": " ",
  "!": "",
  "(": " ",
  ")": " ",
  "[": " ",
  "]": " ",
};

/**
 * A message without its Markdown: emphasis, code fences, block quotes and headings go, lines that only open or
 * close a formula too; line ends become `\n`, code marks become quotes, invisible characters vanish. Headings of the fourth level stay, for `####` marks an answer. Emphasis
 * between two characters of a word or number becomes a blank, so that `7**2` never turns into 72.
 */
export function stripMarkdown(message: string): string {
  return message
    .replace(/\r\n?|[\u2028\u2029]/g, "\n")
    .replace(/[\u200B-\u200D\u2060\uFEFF]/g, "")
    .replace(/^[ \t]{0,8}(?:```|~~~)[^\n]*$/gm, "")
    .replace(/^[ \t]{0,8}(?:\$\$|\\[[\]])[ \t]{0,8}$/gm, "")
    .replace(/^[ \t]{0,8}(?:>[ \t]?)+/gm, "")
    .replace(/^[ \t]{0,8}(?:#{1,3}|#{5,6})[ \t]+/gm, "")
    .replace(/`([^`\n]{1,300})`/g, '"$1"')
    .replace(/\*{2,3}|_{2,3}/g, (mark, at: number, all: string) =>
      isInner(all.charAt(at - 1)) && isInner(all.charAt(at + mark.length)) ? " " : "",
    )
    .replace(/(^|[\s("':,.])([*_])(?=[^\s*_])([^*_\n]{1,200})\2(?=$|[\s)"'.,:;!?])/gm, "$1$3");
}

/**
 * A phrase without its LaTeX: `\boxed{\frac{1}{2}\text{ km}}` is `1/2 km`, `\$1{,}234` is `$1,234`. A command
 * that is not known stays as it is, with its backslash, so that no reader takes it for text.
 */
export function stripLatex(phrase: string): string {
  let text = phrase.replace(/\\([^A-Za-z\s]| )/g, (whole, character: string) => ESCAPES[character] ?? whole);
  text = text.replace(/\$([^$\n]*)\$/g, " $1 ").replaceAll(MONEY, "$");
  text = text.replaceAll("{,}", ",").replaceAll("~", " ");
  text = text.replace(/\\([A-Za-z]+)\s*/g, (whole, name: string) => SYMBOLS[name] ?? whole);
  text = untilStable(text, (inner) =>
    inner
      .replace(WRAPPER, " $1 ")
      .replace(/\\[dt]?frac\s*(\d)\s*(\d)(?!\d)/g, " $1/$2 ")
      .replace(/\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}/g, (_, over: string, under: string) =>
        /^\s*-?\d+\s*$/.test(over) && /^\s*\d+\s*$/.test(under)
          ? ` ${over.trim()}/${under.trim()} `
          : ` (${over})/(${under}) `,
      ),
  );
  text = text
    .replace(/\^\s*\{([^{}]*)\}/g, "^$1")
    .replace(/\^\s*°/g, "°")
    .replace(/[{}]/g, "");
  return text
    .replace(/ +(?=\^)/g, "")
    .replace(/ {2,}/g, " ")
    .trim();
}

/** Applies a rewriting from the inside out until nothing changes; each pass removes one level of braces. */
function untilStable(text: string, rewrite: (text: string) => string): string {
  let current = text;
  for (let next = rewrite(current); next !== current; next = rewrite(current)) {
    current = next;
  }
  return current;
}

function isInner(character: string): boolean {
  return /[\p{L}\p{N})(]/u.test(character);
}
