import { expect, it } from "vitest";
import { duration, positiveDuration } from "./duration-text.js";

it.each([
  ["500ms", 500],
  ["30s", 30_000],
  ["5m", 300_000],
  ["2h", 7_200_000],
  ["1.5s", 1500],
  ["0s", 0],
])("reads %s as %d ms", (text, ms) => {
  expect(duration.parse(text)).toBe(ms);
});

it.each([10, "10", "", "s", "-1s", "1 s", "1d", "1e3ms", "10seconds", null])("refuses %j", (value) => {
  const parsed = duration.safeParse(value);
  expect(parsed.error?.issues.map(({ message }) => message)).toEqual([
    "expected a duration with its unit, such as 500ms, 30s or 5m",
  ]);
});

it("refuses nothing where more is needed", () => {
  expect(positiveDuration.safeParse("0ms").error?.issues[0]?.message).toBe("expected a duration above 0");
});
