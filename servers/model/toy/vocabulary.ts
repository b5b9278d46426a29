/**
 * The vocabulary of the toy tokenizer.
 *
 *     0 .. 255    one byte of UTF-8 each
 *     256 ..      markers: they stand for structure and for no text
 *     512 ..      pieces: several bytes each
 *
 * Text is tokenised greedily, the longest piece first, so that it has one canonical form; the same text may be spelled
 * by other tokens as well (`ab` is one piece, and `a`, `b` are two tokens), as it is with real vocabularies.
 */
export const marker = {
  /** Begins every prompt. */
  begin: 256,
  /** A tool that may be called: name, description, schema. */
  tool: 257,
  system: 258,
  developer: 259,
  user: 260,
  assistant: 261,
  /** An assistant that declines. */
  refusal: 262,
  reasoning: 263,
  toolCall: 264,
  toolResult: 265,
  opaque: 266,
  /** Ends a name, where one stands before the rest. */
  name: 267,
  /** Ends an item. Of an answer that was not cut it is the last token: the stop token. */
  end: 268,
} as const;

/** Id of the first piece. */
const firstPiece = 512;

/** Pieces of ASCII, so that no token ends inside a character unless it is a single byte. */
const pieces = [
  "ab",
  "th",
  "he",
  "in",
  "er",
  "an",
  "re",
  "on",
  " a",
  " the",
  "the ",
  "ing",
  "and ",
  " to",
  "ion",
  '":',
  '",',
  '{"',
  '"}',
  "  ",
];

const spelledPieces = pieces.map((piece) => [...Buffer.from(piece, "latin1")]);
const idOfPiece = new Map(pieces.map((piece, i) => [piece, firstPiece + i]));
const longestPiece = Math.max(...pieces.map(({ length }) => length));

/** The canonical tokens of a text; a lone surrogate is U+FFFD. */
export function tokenize(text: string): number[] {
  // One character a byte, so that pieces are found in bytes.
  const bytes = Buffer.from(text, "utf8").toString("latin1");
  const ids: number[] = [];
  for (let at = 0; at < bytes.length; ) {
    let length = longestPiece;
    while (length > 1 && !idOfPiece.has(bytes.slice(at, at + length))) length -= 1;
    const piece = bytes.slice(at, at + length);
    ids.push(idOfPiece.get(piece) ?? piece.charCodeAt(0));
    at += length;
  }
  return ids;
}

const isMarker = (id: number): boolean => id >= marker.begin && id <= marker.end;

/** What a token spells: bytes, or a marker as itself; undefined: there is no such token. */
export function spell(id: number): readonly number[] | undefined {
  if (id < 256 || isMarker(id)) return [id];
  return spelledPieces[id - firstPiece];
}

/** What tokens spell, for people: text as it is, markers in angle brackets. */
export function spellingOf(ids: readonly number[]): string {
  const names = new Map<number, string>(Object.entries(marker).map(([name, id]) => [id, `<${name}>`]));
  const parts: Buffer[] = ids.map((id) => {
    const name = names.get(id) ?? (spell(id) === undefined ? `<no token ${id}>` : undefined);
    return name === undefined ? Buffer.from(spell(id) ?? []) : Buffer.from(name);
  });
  return JSON.stringify(Buffer.concat(parts).toString("utf8"));
}

/** Whether two sequences of tokens spell the same. */
export function sameSpelling(a: readonly number[], b: readonly number[]): boolean {
  const symbols = (ids: readonly number[]): string => JSON.stringify(ids.flatMap((id) => spell(id) ?? [-1]));
  return symbols(a) === symbols(b);
}
