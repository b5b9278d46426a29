/** Characters that would break a line, colour a terminal, turn the direction of text, or have no encoding. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu;

/**
 * A peer's text as part of a message for people: on one line, without control characters, cut to `length` characters.
 */
export function printable(text: string, length = 500): string {
  const cut = text.length > length ? `${text.slice(0, length)}... (${text.length} characters)` : text;
  return cut.replace(UNPRINTABLE, (character) => {
    const escaped = JSON.stringify(character).slice(1, -1);
    return escaped === character ? `\\u{${character.codePointAt(0)?.toString(16)}}` : escaped;
  });
}
