import { describe, expect, it } from "vitest";
import { z } from "zod";
import { temporaryFolder } from "../../../test/temporary-folder.js";
import { models } from "./index.js";

describe("our models", () => {
  it("are made by name from options that their schema reads", async () => {
    const folder = temporaryFolder({ "s.jsonl": '{"task":"*","calls":[]}' });
    const options: Record<string, unknown> = {
      echo: {},
      replay: { file: "s.jsonl", model: "scripted", context_tokens: 99 },
      openai: { base_url: "https://upstream.example/v1", model: "far" },
    };
    const made: unknown[] = [];
    for (const [name, { create, options: schema }] of Object.entries(models)) {
      const { name: called, model, contextTokens } = await create(schema.parse(options[name]), folder);
      made.push([name, called, model, contextTokens]);
    }
    expect(made).toEqual([
      ["echo", "echo", "echo", 131_072],
      ["openai", "openai", "far", 131_072],
      ["replay", "replay", "scripted", 99],
    ]);
  });

  it("describe their options as JSON Schema, and refuse unknown ones", () => {
    for (const { options } of Object.values(models)) {
      expect(z.toJSONSchema(options, { io: "input" })).toMatchObject({
        type: "object",
        additionalProperties: false,
      });
      expect(
        options
          .safeParse({ no_such_option: 1 })
          .error?.issues.some(({ code }) => code === "unrecognized_keys"),
      ).toBe(true);
    }
  });
});
