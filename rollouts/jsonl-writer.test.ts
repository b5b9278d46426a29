import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ConfigError } from "../servers/composition/config-error.js";
import { temporaryFolder } from "../test/temporary-folder.js";
import { readJsonl } from "./jsonl-reader.js";
import { JsonlWriter } from "./jsonl-writer.js";

const newPath = (): string => join(temporaryFolder(), "x.jsonl");

it("says where each record stands, in bytes", async () => {
  const writer = new JsonlWriter(newPath());
  expect(writer.append({ a: "é" })).toEqual({ offset: 0, length: 11 });
  expect(writer.append({ a: "b" })).toEqual({ offset: 11, length: 10 });
  await writer.sync();
  writer.close();
  expect([...readJsonl(writer.path)]).toEqual([
    { record: { a: "é" }, offset: 0, length: 11 },
    { record: { a: "b" }, offset: 11, length: 10 },
  ]);
  expect([...readJsonl(writer.path, 11)]).toEqual([{ record: { a: "b" }, offset: 11, length: 10 }]);
});

it.each(['{"n":2', "\0\0\0\0", "x".repeat(200_000)])(
  "field-case-093: cuts off a torn last line (%#), and goes on behind it",
  (torn) => {
    const path = newPath();
    writeFileSync(path, '{"n":1}\n');
    appendFileSync(path, torn);
    const writer = new JsonlWriter(path);
    expect(writer.torn).toBe(torn.length);
    writer.append({ n: 3 });
    writer.close();
    expect(readFileSync(path, "utf8")).toBe('{"n":1}\n{"n":3}\n');
    expect(new JsonlWriter(path).torn).toBe(0);
  },
);

it("field-case-093: cuts off a file that is nothing but a torn line", () => {
  const path = newPath();
  writeFileSync(path, '{"n":');
  const writer = new JsonlWriter(path);
  expect([writer.torn, writer.size]).toEqual([5, 0]);
  writer.close();
});

it("reads lines that are longer than what is read at once", () => {
  const writer = new JsonlWriter(newPath());
  const records = [{ text: "a".repeat(3_000_000) }, { text: "b" }, { text: "c".repeat(1 << 20) }];
  for (const record of records) writer.append(record);
  writer.close();
  expect([...readJsonl(writer.path)].map(({ record }) => record)).toEqual(records);
});

it("reads no torn line, and refuses one in the middle that is no JSON", () => {
  const path = newPath();
  writeFileSync(path, '{"n":1}\n{"n":2');
  expect([...readJsonl(path)].map(({ record }) => record)).toEqual([{ n: 1 }]);
  writeFileSync(path, '{"n":1}\nnonsense\n{"n":3}\n');
  expect(() => [...readJsonl(path)]).toThrow(
    new ConfigError([`${path}: line 2 is no JSON; the file was changed by something else`]),
  );
});

it("reads nothing where there is no file", () => {
  expect([...readJsonl("no-such.jsonl")]).toEqual([]);
});
