import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { TaskIdSchema, TaskSchema } from "../gen/index.js";
import { reasoning } from "../servers/environment/worlds/reasoning/index.js";
import { checkDistinct, checkTasks, forEnvironment, type PlacedTask } from "./task-set.js";

function task(place: string, change: MessageInitShape<typeof TaskSchema>): PlacedTask {
  const made = create(TaskSchema, change);
  made.taskId ??= create(TaskIdSchema, { id: place });
  return { place, task: made };
}

const row = (text: string) => ({
  row: { data: Buffer.from(text), mediaType: "application/json", rowSchema: "gsm8k" },
});

it("field-case-103: tells file, line, path, expected and found of every row that the environment cannot read", () => {
  const tasks = [
    task("t:1", row('{"question":"q","answer":"#### 1"}')),
    task("t:7", row('{"question":7,"answer":"#### 1"}')),
    task("t:9", row('{"answer":"#### 1"}')),
    task("t:10", row('{"question":"q","answer":"no marker"}')),
    task("t:11", { publicJson: '{"kind":"arithmetic","index":"0"}' }),
  ];
  forEnvironment(tasks, { name: "reasoning", server: "maths" });
  expect(() => checkTasks(tasks, reasoning({ calculator: true }) as never)).toThrow(
    [
      "t:7: row.question: expected a text, found a number",
      "t:9: row.question: expected a text, found nothing",
      "t:10: row.answer: expected the final answer after ####, found no ####",
      "t:11: public_json.index: expected number, found string",
    ].join("\n"),
  );
});

it("field-case-107: refuses tasks of an environment that nobody serves, and routes those that name none", () => {
  const tasks = [
    task("t:1", { environment: "reasoning" }),
    task("t:2", { environment: "robots" }),
    task("t:3", {}),
  ];
  expect(() => forEnvironment(tasks, { name: "reasoning", server: "maths" })).toThrow(
    't:2: expected a task for environment "reasoning", which server maths serves, found one for "robots"',
  );
  expect(tasks[2]?.task.environment).toBe("reasoning");
});

it("field-case-110: refuses two tasks of one name, whatever they hold", () => {
  const same = { taskId: { taskset: "s", id: "4" } };
  expect(() =>
    checkDistinct([
      task("t:4", { ...same, publicJson: "1" }),
      task("t:5", { taskId: { taskset: "other", id: "4" } }),
      task("u:9", { ...same, publicJson: "2" }),
    ]),
  ).toThrow('u:9: expected a task id of its own, found "4", which t:4 has');
});
