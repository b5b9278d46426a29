import { describe, expect, it } from "vitest";
import { findMarkers } from "./answer-markers.js";

const found = (text: string): string[] =>
  findMarkers(text).map(
    ({ strength, form, phrase, closed }) => `${strength} ${form} ${phrase}${closed ? "" : " …"}`,
  );

describe("findMarkers", () => {
  it.each([
    ["#### 72", ["1 #### 72"]],
    ["x #### 72 #### 73\n#### 74", ["1 #### 72 ", "1 #### 73", "1 #### 74"]],
    ["##### 72", []],
    ["\\boxed{\\frac{1}{2}} and \\fbox{3}", ["1 \\boxed \\frac{1}{2}", "1 \\boxed 3"]],
    ["\\boxed{\\boxed{72}}", ["1 \\boxed \\boxed{72}"]],
    ["\\boxed{a\\}b}", ["1 \\boxed a\\}b"]],
    ["\\boxed{72", ["1 \\boxed 72 …"]],
    ["<answer> 72 </answer>", ["1 <answer> 72"]],
    ["<answer>72", ["1 <answer> 72 …"]],
    ["The final answer is 72.", ["2 prose 72."]],
    ["The answer is 72.", ["3 prose 72."]],
    ["Answer: 72", ["3 heading 72"]],
    ["Answer\n\n72", ["3 heading 72"]],
    ["The answer is:\n72", ["3 heading 72"]],
    ["Final Answer\n72", ["2 heading 72"]],
    ["Answer:\n- 72", []],
    ['{"answer": "72", "n": 1}', ['3 heading "72"']],
    ['{"final_answer": 72}', ["2 heading 72"]],
    ["answer (in km) = 72", ["3 heading 72"]],
    ["Answer in km: 72", ["3 heading 72"]],
    ["We turn the answer to weeks: 72", []],
    ["If the answer is 72, we stop.", []],
    ["One might think the answer is 72.", []],
    ["I don't think the answer is 72.", []],
    ["The answer to part 1 is 24.", []],
    ["She answered 72 questions.", []],
    ["What a good answer!", []],
    ["That was the answer", []],
  ])("%j has %j", (text, markers) => {
    expect(found(text)).toEqual(markers);
  });

  it("orders markers as the text does and says where they are", () => {
    const text = "The answer is 72.\n#### 73\n\\boxed{74}";
    const markers = findMarkers(text);
    expect(markers.map(({ start, end }) => text.slice(start, end))).toEqual([
      "answer is 72.",
      "#### 73",
      "\\boxed{74",
    ]);
  });

  it("looks at no more than 300 characters of a phrase", () => {
    const long = "9".repeat(1_000);
    const [hash] = findMarkers(`#### ${long}`);
    const [box] = findMarkers(`\\boxed{${long}}`);
    expect(hash?.phrase).toHaveLength(300);
    expect(box).toMatchObject({ closed: false });
  });
});
