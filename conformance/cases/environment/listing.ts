import { create } from "@bufbuild/protobuf";
import { Feature, type Task, TaskIdSchema } from "../../../gen/index.js";
import { type EnvironmentTrial, environmentCheck } from "./environment-trial.js";

const pagesAtMost = 200;

function splitOf(t: EnvironmentTrial): { split: string; taskset: string } {
  const [first] = t.described.splits;
  t.judge.that("Describe's splits", first !== undefined, { expected: "at least one", actual: "none" });
  return { split: first?.name ?? "", taskset: first?.taskset ?? "" };
}

/** The first tasks of the first split, read by pages of a size. */
async function list(
  t: EnvironmentTrial,
  { pageSize, most, elsewhere = false }: { pageSize: number; most: number; elsewhere?: boolean },
): Promise<{ tasks: Task[]; pages: number[]; complete: boolean }> {
  const calls = elsewhere ? t.elsewhere() : t.calls;
  const tasks: Task[] = [];
  const pages: number[] = [];
  let pageToken = "";
  do {
    const page = t.judge.answer(
      "ListTasks",
      await calls.listTasks({ ...splitOf(t), pageSize, pageToken, includePrivileged: true }),
    );
    tasks.push(...page.tasks);
    pages.push(page.tasks.length);
    pageToken = page.nextPageToken;
  } while (pageToken !== "" && tasks.length < most && pages.length < pagesAtMost);
  return { tasks, pages, complete: pageToken === "" };
}

const idOf = (task: Task): string => `${task.taskId?.taskset ?? ""}/${task.taskId?.id ?? ""}`;

/** TASK_LISTING. */
export const listingChecks = [
  environmentCheck(
    {
      clause: "ENV-LIST-001",
      name: "each-once",
      title: "pages of 1, 2 and 3 tasks give the same tasks, each once.",
    },
    async (t) => {
      const most = 12;
      const [ones, twos, threes] = [
        await list(t, { pageSize: 1, most }),
        await list(t, { pageSize: 2, most }),
        await list(t, { pageSize: 3, most }),
      ];
      const ids = ones.tasks.slice(0, most).map(idOf);
      t.judge.that("tasks of the split", ids.length > 0, { expected: "at least one", actual: "none" });
      t.judge.equal("tasks by pages of 2", twos.tasks.slice(0, most).map(idOf), ids);
      t.judge.equal("tasks by pages of 3", threes.tasks.slice(0, most).map(idOf), ids);
      t.judge.equal("tasks that differ", new Set(ids).size, ids.length);
      const { totalSize } = t.judge.answer("ListTasks", await t.calls.listTasks(splitOf(t)));
      if (ones.complete && totalSize !== undefined) {
        t.judge.equal("tasks against total_size", BigInt(ones.tasks.length), totalSize);
      }
    },
  ),
  environmentCheck(
    {
      clause: "ENV-LIST-002",
      name: "stable-order",
      title: "two readings over two connections are in the same order.",
    },
    async (t) => {
      const first = await list(t, { pageSize: 5, most: 10 });
      const second = await list(t, { pageSize: 5, most: 10, elsewhere: true });
      t.judge.equal("the second reading", second.tasks.map(idOf), first.tasks.map(idOf));
    },
  ),
  environmentCheck(
    { clause: "ENV-LIST-003", name: "unique-ids", title: "task ids are unique in a split." },
    async (t) => {
      const { tasks } = await list(t, { pageSize: 100, most: 500 });
      t.judge.each("tasks", tasks, (task) => t.judge.differ("task_id.id", task.taskId?.id ?? "", ""));
      t.judge.equal("ids that differ", new Set(tasks.map(idOf)).size, tasks.length);
    },
  ),
  environmentCheck(
    {
      clause: "ENV-LIST-004",
      name: "page-size",
      title: "no page is larger than page_size, and 0 means the server's default.",
    },
    async (t) => {
      const { pages } = await list(t, { pageSize: 1, most: 3 });
      t.judge.each("pages of 1", pages, (size) =>
        t.judge.that("its tasks", size <= 1, { expected: "1 at most", actual: `${size}` }),
      );
      const usual = t.judge.answer("ListTasks", await t.calls.listTasks(splitOf(t)));
      t.judge.that("a page of the default size", usual.tasks.length > 0, {
        expected: "tasks",
        actual: "none",
      });
    },
  ),
  environmentCheck(
    {
      clause: "ENV-LIST-005",
      name: "unknown-split",
      title: "an unknown split is refused NAME_UNKNOWN.",
      sendsInvalid: true,
    },
    async (t) => {
      const { taskset } = splitOf(t);
      t.judge.refused("an unknown split", await t.calls.listTasks({ split: t.id("nope"), taskset }));
      t.judge.answer("a known one", await t.calls.listTasks(splitOf(t)));
    },
  ),
  environmentCheck(
    {
      clause: "ENV-LIST-006",
      name: "get-task",
      title: "GetTask gives the listed task; an unknown one is TASK_UNKNOWN.",
      sendsInvalid: true,
    },
    async (t) => {
      const { tasks } = await list(t, { pageSize: 3, most: 3 });
      t.judge.that("tasks of the split", tasks.length > 0, { expected: "at least one", actual: "none" });
      for (const task of tasks) {
        if (task.taskId === undefined) continue;
        const got = await t.calls.getTask({ taskId: task.taskId, includePrivileged: true });
        t.judge.equal(`GetTask of ${idOf(task)}`, t.judge.answer("GetTask", got).task, task);
      }
      const unknown = { taskset: tasks[0]?.taskId?.taskset ?? "", id: t.id("nope") };
      t.judge.refused("an unknown task", await t.calls.getTask({ taskId: unknown }));
    },
  ),
  environmentCheck(
    {
      clause: "ENV-LIST-007",
      name: "by-id-and-whole",
      title: "a task seeded by id and whole, with one seed, starts in the same world.",
    },
    async (t) => {
      const [task] = (await list(t, { pageSize: 1, most: 1 })).tasks;
      if (task?.taskId === undefined) return t.judge.equal("tasks of the split", "none", "some");
      const byId = await t.open({ source: { case: "taskId", value: task.taskId } });
      const whole = await t.open({ source: { case: "task", value: task } });
      const start = ({ descriptor }: typeof byId): unknown =>
        descriptor.agents.map(({ agentId, input, observation }) => ({ agentId, input, observation }));
      t.judge.equal("how the session by id starts", start(byId), start(whole));
      t.judge.equal("its task's digest", byId.descriptor.task?.digest, whole.descriptor.task?.digest);
    },
  ),
  environmentCheck(
    {
      clause: "ENV-LIST-009",
      name: "foreign-token",
      title: "a page token that was not given here is refused.",
      sendsInvalid: true,
    },
    async (t) => {
      const status = t.judge.refused(
        "a page token of nobody",
        await t.calls.listTasks({ ...splitOf(t), pageToken: "x" }),
      );
      t.judge.names("BadRequest", status, "page_token");
    },
  ),
  environmentCheck(
    {
      clause: "ENV-LIST-010",
      name: "page-size-bounds",
      title: "a negative page_size is refused; a huge one gives a page.",
      sendsInvalid: true,
    },
    async (t) => {
      const status = t.judge.refused(
        "page_size -1",
        await t.calls.listTasks({ ...splitOf(t), pageSize: -1 }),
      );
      t.judge.names("BadRequest", status, "page_size");
      const huge = t.judge.answer(
        "page_size 1,000,000",
        await t.calls.listTasks({ ...splitOf(t), pageSize: 1_000_000 }),
      );
      t.judge.that("its page", huge.tasks.length > 0, { expected: "tasks", actual: "none" });
    },
  ),
  environmentCheck(
    {
      clause: "ENV-SEED-002",
      name: "unknown-task-id",
      title: "Seed by an unknown task_id is TASK_UNKNOWN, and its id stays free.",
      sendsInvalid: true,
    },
    async (t) => {
      const taskId = { taskset: splitOf(t).taskset, id: t.id("nope") };
      const request = t.seedRequest();
      const source = { case: "taskId" as const, value: create(TaskIdSchema, taskId) };
      t.judge.refused("an unknown task_id", await t.calls.seed({ ...request, source }));
      t.judge.answer("a whole task under the same id", await t.calls.seed(request));
    },
  ),
];

/** Where tasks are not listed, a Seed by id is not served. */
export const unlistedChecks = [
  environmentCheck(
    {
      clause: "ENV-SEED-028",
      name: "by-id-unsupported",
      title: "Seed by task_id without TASK_LISTING is FEATURE_UNSUPPORTED.",
      sendsInvalid: true,
    },
    async (t) => {
      if (t.has(Feature.TASK_LISTING)) t.notApplicable("the subject declares TASK_LISTING");
      const request = t.seedRequest();
      const taskId = t.must(t.fixture.sample.task?.taskId, "environment.sample.task.taskId");
      t.judge.refused(
        "Seed by task_id",
        await t.calls.seed({ ...request, source: { case: "taskId", value: taskId } }),
      );
      t.judge.answer("Seed of the whole task", await t.calls.seed(request));
    },
  ),
];
