import { afterEach, expect, it, vi } from "vitest";
import { requiredTool } from "./required-tool.js";

class Skipped extends Error {}

const context = {
  skip(note?: string | boolean): never {
    throw new Skipped(String(note));
  },
};

afterEach(() => {
  vi.unstubAllEnvs();
});

it("gives what was found, looking once", () => {
  const find = vi.fn(() => "/bin/tool");
  const tool = requiredTool("a tool", find, "make tool");
  expect(tool.skip).toBe(false);
  expect([tool.need(context), tool.need(context)]).toEqual(["/bin/tool", "/bin/tool"]);
  expect(find).toHaveBeenCalledOnce();
});

it("skips with the reason where it is missing", () => {
  vi.stubEnv("CI", "");
  const tool = requiredTool("a tool", () => undefined, "make tool");
  expect(tool.skip).toBe("a tool is not on this machine; make tool brings it");
  expect(() => tool.need(context)).toThrow(new Skipped("a tool is not on this machine; make tool brings it"));
});

it("fails in CI where it is missing", () => {
  vi.stubEnv("CI", "true");
  const tool = requiredTool("a tool", () => undefined, "make tool");
  expect(() => tool.need(context)).toThrow(/make tool brings it\. CI=true/);
  expect(() => tool.need(context)).not.toThrow(Skipped);
});
