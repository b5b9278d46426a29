import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { AnswerStream } from "./answer-stream.js";

const status = new ConnectError("told instead", Code.Internal);

function stream(begin: () => AsyncIterable<unknown>) {
  const ends: unknown[] = [];
  const made = new AnswerStream({ begin, toStatus: () => status, ended: (how) => ends.push(how) });
  return { made, ends };
}

async function all(made: AsyncIterable<unknown>): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const answer of made) found.push(answer);
  return found;
}

async function* answers(fails = false): AsyncGenerator<number> {
  yield 1;
  if (fails) throw new Error("secret");
  yield 2;
}

describe("AnswerStream", () => {
  it("passes all answers on and tells its end once", async () => {
    const { made, ends } = stream(() => answers());
    expect(await all(made)).toEqual([1, 2]);
    expect((await made.next()).done).toBe(true);
    await made.return();
    expect(ends).toEqual(["served"]);
  });

  it.each([
    () => answers(true),
    () => {
      throw new Error("secret");
    },
  ])("tells a status in the place of an error %#", async (begin) => {
    const { made, ends } = stream(begin);
    await expect(all(made)).rejects.toBe(status);
    expect((await made.next()).done).toBe(true);
    expect(ends).toEqual([status]);
  });

  it("ends its answers when the reader leaves, and begins nothing for one who never read", async () => {
    let ended = false;
    const { made, ends } = stream(async function* () {
      try {
        yield* answers();
      } finally {
        ended = true;
      }
    });
    expect((await made.next()).value).toBe(1);
    await made.return();
    expect(ended).toBe(true);
    expect(ends).toEqual(["left"]);
    const unread = stream(() => answers());
    await expect(unread.made.throw(new Error("gone"))).rejects.toThrow("gone");
    expect((await unread.made.next()).done).toBe(true);
    expect(unread.ends).toEqual([]);
  });
});
