import { describe, expect, it } from "vitest";
import { lastAnswer } from "../../../runtime/items.js";
import { ask, assistant, ServedModel, user } from "../../fixtures/served-model.js";
import { echo } from "./index.js";

describe("echo", () => {
  it("says the last words of the user back", async () => {
    await using served = await ServedModel.start(echo({ model: "parrot" }));
    const answer = await served.answer(ask([user("first"), user("polly"), assistant("no")]));
    expect(lastAnswer(answer.choices[0]?.items ?? [])).toBe("polly");
    expect(lastAnswer((await served.answer(ask([assistant("no")]))).choices[0]?.items ?? [])).toBe("");
  });

  it("refuses unknown options", () => {
    expect(() => echo({ context: 5 } as never)).toThrow(/context/);
  });
});
