import { join } from "node:path";
import { expect, it } from "vitest";
import { ConfigError } from "../servers/composition/config-error.js";
import { temporaryFolder } from "../test/temporary-folder.js";
import { readTaskFile } from "./task-file.js";

const row = (question: string): string => JSON.stringify({ question, answer: "#### 1" });

async function read(content: string | Buffer, rowSchema?: string) {
  const file = join(temporaryFolder({ "t.jsonl": content }), "t.jsonl");
  return await readTaskFile({
    from: "file",
    file,
    shown: "t.jsonl",
    rowSchema,
    taskset: undefined,
    split: undefined,
  });
}

async function problems(content: string | Buffer, rowSchema?: string): Promise<readonly string[]> {
  const error: unknown = await read(content, rowSchema).catch((thrown: unknown) => thrown);
  if (!(error instanceof ConfigError)) throw new Error("expected a ConfigError", { cause: error });
  return error.problems;
}

it("field-case-104: takes a byte order mark, CRLF, blank lines and a missing last newline", async () => {
  const { tasks } = await read(`\uFEFF${row("a")}\r\n\r\n${row("b")}\n   \n${row("c")}`, "gsm8k");
  expect(
    tasks.map(({ place, task }) => [place, task.taskId?.id, Buffer.from(task.row?.data ?? []).toString()]),
  ).toEqual([
    ["t.jsonl:1", "1", row("a")],
    ["t.jsonl:3", "3", row("b")],
    ["t.jsonl:5", "5", row("c")],
  ]);
});

it("field-case-104: tells a bad line with its number and column, without its text", async () => {
  const lines = [row("a"), row("b"), row("c"), row("d"), '{"question": "S3CRET", }', row("f")];
  expect(await problems(`\uFEFF${lines.join("\r\n")}`, "gsm8k")).toEqual([
    "t.jsonl:5: expected one JSON value, found text that is no JSON at column 24",
  ]);
});

it("tells every bad line", async () => {
  const bytes = Buffer.concat([
    Buffer.from(`${row("a")}\n[1]\n"text"\n{"a":1\n`),
    Buffer.from([0x22, 0xff, 0x22, 0x0a]),
  ]);
  expect(await problems(bytes, "gsm8k")).toEqual([
    "t.jsonl:2: expected a JSON object, found another JSON value (so too t.jsonl:3)",
    "t.jsonl:4: expected one JSON value, found text that is no JSON at column 7",
    "t.jsonl:5: expected UTF-8 text, found bytes that are none",
  ]);
});

it("field-case-103: tells the field of a task that is wrong", async () => {
  const told = await problems(
    ['{"taskId":{"id":"ok"}}', '{"taskId":{"id":7}}', '{"publicJson":"{}"}', '{"taskID":{"id":"x"}}'].join(
      "\n",
    ),
  );
  expect(told).toEqual([
    "t.jsonl:2: taskId.id: expected string, found 7",
    "t.jsonl:3: task_id: value is required",
    't.jsonl:4: unknown key "taskID"; did you mean "task_id"?',
  ]);
});

it("leaves the environment of a task open, and keeps one that is named", async () => {
  const { tasks } = await read('{"taskId":{"id":"1"}}\n{"taskId":{"id":"2"},"environment":"robots"}\n');
  expect(tasks.map(({ task }) => task.environment)).toEqual(["", "robots"]);
});

it("field-case-110: byte-identical rows are tasks of their own", async () => {
  const { tasks } = await read(`${row("a")}\n${row("a")}\n`, "gsm8k");
  expect(tasks.map(({ task }) => task.taskId)).toMatchObject([
    { taskset: "gsm8k", id: "1" },
    { taskset: "gsm8k", id: "2" },
  ]);
});

it("gives a digest of the bytes", async () => {
  const { digest } = await read(`${row("a")}\n`, "gsm8k");
  expect(digest).toMatch(/^sha256:[0-9a-f]{64}$/);
  expect((await read(`${row("a")}\r\n`, "gsm8k")).digest).not.toBe(digest);
});

it("refuses a file that is missing, or holds nothing", async () => {
  expect(await problems("\n\n")).toEqual(["t.jsonl: expected tasks, found none"]);
  await expect(
    readTaskFile({
      from: "file",
      file: "/no/such",
      shown: "x.jsonl",
      rowSchema: undefined,
      taskset: undefined,
      split: undefined,
    }),
  ).rejects.toThrow("x.jsonl: cannot be read (ENOENT); give the path of a JSONL file of tasks");
});

it("takes tasks as people write them, in either spelling, and as the contract's JSON has them", async () => {
  const written = [
    { task_id: "a", input: "Guess.", public_json: { level: 1 }, privileged_json: { number: 7 } },
    { taskId: "a", publicJson: { level: 1 }, privilegedJson: { number: 7 } },
    {
      taskId: { id: "a" },
      publicJson: '{"level":1}',
      privileged: { data: Buffer.from('{"number":7}').toString("base64"), mediaType: "application/json" },
    },
  ];
  const { tasks } = await read(written.map((task) => JSON.stringify(task)).join("\n"));
  for (const { task } of tasks) {
    expect(task).toMatchObject({
      taskId: { id: "a" },
      publicJson: '{"level":1}',
      privileged: { mediaType: "application/json" },
    });
    expect(new TextDecoder().decode(task.privileged?.data)).toBe('{"number":7}');
  }
  expect(tasks[0]?.task.input).toMatchObject([
    { kind: { case: "chatMessage", value: { content: [{ kind: { case: "text", value: "Guess." } }] } } },
  ]);
  const both = { task_id: "a", privileged_json: 1, privileged: { data: "MQ==" } };
  expect(await problems(JSON.stringify(both))).toEqual([
    "t.jsonl:1: expected privileged or privileged_json, found both",
  ]);
});

it.each([
  ['{"task_id":1}', "task_id: expected the id as text, or an object with taskset and id, found 1"],
  ['{"task_id":"a","input":5}', "input: expected text, or a list of items, found 5"],
  ['{"task_id":"a","input":[5]}', "input[0]: expected an object, found 5"],
  ['{"task_id":"a","priviledged_json":1}', 'unknown key "priviledged_json"; did you mean "privileged_json"?'],
  ['{"task_id":"a","limits":{"max_step":4}}', 'limits: unknown key "max_step"; did you mean "max_steps"?'],
  ['{"task_id":"a","limits":{"max_steps":"x"}}', 'limits.max_steps: expected number (uint32), found "x"'],
  [
    '{"task_id":"a","limits":{"verify_timeout":5}}',
    'limits.verify_timeout: expected seconds as text, such as "30s", found 5',
  ],
  ["[1]", "expected an object, found a list"],
])("tells what is wrong with a task by its author's own words: %s", async (line, problem) => {
  expect(await problems(line)).toEqual([`t.jsonl:1: ${problem}`]);
});

it("tells what is wrong in the same way once, with its lines", async () => {
  const lines = Array.from({ length: 1000 }, () => "[]").join("\n");
  expect(await problems(lines)).toEqual([
    "t.jsonl:1: expected an object, found a list (so too t.jsonl:2, t.jsonl:3, t.jsonl:4, t.jsonl:5, t.jsonl:6, t.jsonl:7, t.jsonl:8, t.jsonl:9, t.jsonl:10, t.jsonl:11 and 989 more)",
  ]);
});

it("tells the first ten bad lines and how many more there are", async () => {
  const lines = Array.from({ length: 1000 }, (_, i) => `{"key${i}":1}`).join("\n");
  const folder = temporaryFolder({ "t.jsonl": lines });
  const source = { from: "file", file: join(folder, "t.jsonl"), shown: "t.jsonl" } as const;
  const read = readTaskFile({ ...source, rowSchema: undefined, taskset: undefined, split: undefined });
  const error: unknown = await read.catch((thrown: unknown) => thrown);
  const problems = error instanceof ConfigError ? error.problems : [];
  expect(problems).toHaveLength(11);
  expect(problems[9]).toMatch(/^t\.jsonl:10: unknown key "key9"/);
  expect(problems[10]).toBe("and 990 more like these: 1000 problems in all");
});
