import { describe, expect, it } from "vitest";
import { marker, sameSpelling, spell, spellingOf, tokenize } from "./vocabulary.js";

describe("the toy tokenizer", () => {
  it.each(["", "ab the thing and on", '{"a":"b","c":"d"}  ', "ä👍🏽\u0000\n\t漢字", "aab thethe  and  "])(
    "spells what it was given: %j",
    (text) => {
      const ids = tokenize(text);
      expect(Buffer.from(ids.flatMap((id) => spell(id) ?? [])).toString("utf8")).toBe(text);
      expect(tokenize(text)).toEqual(ids);
      expect(sameSpelling(ids, [...Buffer.from(text, "utf8")])).toBe(true);
    },
  );

  it("makes a lone surrogate U+FFFD", () => {
    expect(tokenize("\ud800")).toEqual(tokenize("\ufffd"));
  });

  it("takes the longest piece, and knows the same text by other tokens", () => {
    expect(tokenize("ab")).toHaveLength(1);
    expect(tokenize(" the ")).toHaveLength(2);
    expect(sameSpelling(tokenize("ab"), [97, 98])).toBe(true);
    expect(sameSpelling(tokenize("ab"), [97, 99])).toBe(false);
    expect(sameSpelling([9999], [9999])).toBe(true);
    expect(sameSpelling([9999], [97])).toBe(false);
  });

  it("tells markers from text that looks like them", () => {
    expect(spell(marker.end)).toEqual([marker.end]);
    expect(sameSpelling(tokenize("<end>"), [marker.end])).toBe(false);
    expect(spellingOf([marker.user, 104, 105, marker.end, 400])).toBe('"<user>hi<end><no token 400>"');
  });
});
