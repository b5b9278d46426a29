import { expect, describe as group, it } from "vitest";
import { EnvironmentService, Feature, type Task } from "../../gen/index.js";
import { defineEnvironment } from "../../servers/environment/define-environment.js";
import type { TaskSplit } from "../../servers/environment/definition/task-split.js";
import type { BareClient } from "../bare-client.js";
import * as fixture from "./fixture.js";

const { listTasks, getTask } = EnvironmentService.method;
const { seed, describe } = fixture;
const canary = "CANARY-7f3a";

const split = (size: number | undefined, more: Partial<TaskSplit> = {}): TaskSplit => ({
  revision: "r1",
  ...(size === undefined ? {} : { size }),
  at: (index) => ({
    taskId: { id: `t${index}` },
    publicJson: JSON.stringify({ index }),
    privileged: { data: Buffer.from(canary), mediaType: "text/plain" },
    reference: {},
  }),
  ...(size === undefined ? { indexOf: (id) => Number(id.slice(1)) } : {}),
  ...more,
});

const world = (splits: Record<string, TaskSplit>) =>
  defineEnvironment({
    name: "listed",
    version: "1.0.0",
    reward: { timing: "terminal", minimum: 0, maximum: 1 },
    determinism: "seeded",
    splits,
    read: ({ task }) => task.publicJson,
    seed: ({ data }) => ({ state: null, input: `do ${data}` }),
    verify: () => ({ reward: 1 }),
  });

const pagesOf = async (client: BareClient, change: object): Promise<Task[][]> => {
  const pages: Task[][] = [];
  let pageToken = "";
  do {
    const { message, error } = await client.unary(listTasks, { split: "test", ...change, pageToken });
    expect(error).toBeUndefined();
    pages.push(message?.tasks ?? []);
    pageToken = message?.nextPageToken ?? "";
  } while (pageToken !== "");
  return pages;
};

group("TASK_LISTING", () => {
  it("looks through a split that has no indexOf once, however many of its tasks are asked for", async () => {
    let made = 0;
    const at: TaskSplit["at"] = (index) => {
      made += 1;
      return { taskId: { id: `t${index}` } };
    };
    await using f = await fixture.serveWorld(world({ test: split(500, { at }) }));
    for (const id of ["t10", "t499", "t499", "t3", "none", "none"]) {
      const { message, error } = await f.client.unary(getTask, { taskId: { id } });
      expect(message?.task?.taskId?.id ?? error?.reason).toBe(id === "none" ? "TASK_UNKNOWN" : id);
    }
    // Each of the 500 once on the way, and the four that were found once more.
    expect(made).toBe(504);
  });

  it("is declared with its splits, each with a revision (ENV-DESC-006)", async () => {
    await using f = await fixture.serveWorld(
      world({ train: split(undefined), test: split(7, { revision: "r2", taskset: "own" }) }),
    );
    const { message } = await f.client.unary(describe, {});
    expect(message?.service?.features).toContain(Feature.TASK_LISTING);
    expect(message?.splits).toMatchObject([
      { name: "train", revision: "r1", taskset: "" },
      { name: "test", revision: "r2", taskset: "own", taskCount: 7n },
    ]);
  });

  it("gives each task of a split once, in its order, no page above its size (ENV-LIST-001, -003, -004, -010)", async () => {
    await using f = await fixture.serveWorld(world({ test: split(250) }));
    const ids = Array.from({ length: 250 }, (_, i) => `t${i}`);
    for (const [pageSize, sizes] of [
      [100, [100, 100, 50]],
      [0, [100, 100, 50]],
      [249, [249, 1]],
      [250, [250]],
      [2_000_000_000, [250]],
    ] as const) {
      const pages = await pagesOf(f.client, { pageSize });
      expect(pages.map(({ length }) => length)).toEqual(sizes);
      expect(pages.flat().map(({ taskId }) => taskId?.id)).toEqual(ids);
    }
    const { message } = await f.client.unary(listTasks, { split: "test", pageSize: 1 });
    expect(message).toMatchObject({ revision: "r1", totalSize: 250n });
    expect(message?.tasks[0]).toMatchObject({ environment: "listed", split: "test", revision: "r1" });
    expect((await f.client.unary(listTasks, { split: "test", pageSize: -1 })).error?.fields).toEqual([
      "page_size",
    ]);
  });

  it("gives privileged data and references only where they are asked for (R16)", async () => {
    await using f = await fixture.serveWorld(world({ test: split(2) }));
    const [open] = (await pagesOf(f.client, {})).flat();
    expect(open).toMatchObject({ publicJson: '{"index":0}' });
    expect(open?.privileged).toBeUndefined();
    expect(open?.reference).toBeUndefined();
    const [whole] = (await pagesOf(f.client, { includePrivileged: true })).flat();
    expect(Buffer.from(whole?.privileged?.data ?? []).toString()).toBe(canary);
    const taskId = { id: "t1" };
    expect((await f.client.unary(getTask, { taskId })).message?.task?.privileged).toBeUndefined();
  });

  it("refuses a split that there is not, and a page token that it did not give (ENV-LIST-005, ENV-LIST-009)", async () => {
    await using f = await fixture.serveWorld(world({ test: split(9), train: split(9) }));
    expect((await f.client.unary(listTasks, { split: "tset" })).error).toMatchObject({
      code: "NOT_FOUND",
      reason: "NAME_UNKNOWN",
      fields: ["split"],
    });
    const { message } = await f.client.unary(listTasks, { split: "test", pageSize: 2 });
    const given = message?.nextPageToken ?? "";
    expect(given).not.toBe("");
    for (const pageToken of [
      "2",
      "x".repeat(40),
      `${given}A`,
      given.slice(1),
      Buffer.from("2").toString("base64url"),
    ]) {
      const { error } = await f.client.unary(listTasks, { split: "test", pageToken });
      expect(error).toMatchObject({ reason: "INVALID_FIELD", fields: ["page_token"] });
    }
    expect((await f.client.unary(listTasks, { split: "train", pageToken: given })).error?.fields).toEqual([
      "page_token",
    ]);
  });

  it("ends a page before it is too large to be delivered (R11)", async () => {
    const large = split(5, {
      at: (index) => ({ taskId: { id: `t${index}` }, publicJson: "x".repeat(1_500_000) }),
    });
    await using f = await fixture.serveWorld(world({ test: large }));
    const pages = await pagesOf(f.client, {});
    expect(pages.map(({ length }) => length)).toEqual([2, 2, 1]);
  });

  it("finds a task by its id, also in an endless split (ENV-LIST-006)", async () => {
    await using f = await fixture.serveWorld(world({ train: split(undefined), test: split(3) }));
    const far = await f.client.unary(getTask, { taskId: { id: "t123456" } });
    expect(far.message?.task).toMatchObject({ split: "train", publicJson: '{"index":123456}' });
    const [listed] = (await pagesOf(f.client, { split: "test", includePrivileged: true })).flat();
    const found = await f.client.unary(getTask, { taskId: { id: "t0" }, includePrivileged: true });
    expect(found.message?.task?.publicJson).toBe(listed?.publicJson);
    const misnamed = await f.client.unary(getTask, { taskId: { id: "t0", taskset: "another" } });
    expect(misnamed.error?.message).toContain(
      'no split has a task "t0" of task set "another"; there is "t0" without one',
    );
    for (const taskId of [{ id: "x" }, { id: "t-1" }, { id: "t0", taskset: "another" }]) {
      expect((await f.client.unary(getTask, { taskId })).error).toMatchObject({
        code: "NOT_FOUND",
        reason: "TASK_UNKNOWN",
      });
    }
  });

  it("seeds a task by its id into the world that the whole task begins (ENV-LIST-007)", async () => {
    await using f = await fixture.serveWorld(world({ test: split(3) }));
    const { context } = fixture.seedRequest();
    const taskId = { case: "taskId" as const, value: { id: "t2" } };
    const byId = await f.client.unary(seed, { sessionId: "a", context, source: taskId });
    const whole = await f.client.unary(getTask, { taskId: { id: "t2" }, includePrivileged: true });
    const task = whole.message?.task;
    if (task === undefined) throw new Error("no task");
    const byTask = await f.client.unary(seed, {
      sessionId: "b",
      context,
      source: { case: "task", value: task },
    });
    expect(byId.message?.session?.task).toEqual(byTask.message?.session?.task);
    expect(fixture.told(byId.message?.session?.agents[0]?.input)).toBe('do {"index":2}');
    const unknown = await f.client.unary(seed, {
      sessionId: "c",
      context,
      source: { case: "taskId", value: { id: "none" } },
    });
    expect(unknown.error).toMatchObject({ code: "NOT_FOUND", reason: "TASK_UNKNOWN" });
  });

  it("is FEATURE_UNSUPPORTED and unimplemented where no splits are defined", async () => {
    await using f = await fixture.startFixture();
    const { context } = fixture.seedRequest();
    const byId = await f.client.unary(seed, {
      sessionId: "a",
      context,
      source: { case: "taskId", value: { id: "t" } },
    });
    expect(byId.error).toMatchObject({ code: "UNIMPLEMENTED", metadata: { feature: "TASK_LISTING" } });
    expect((await f.client.unary(listTasks, { split: "test" })).error?.code).toBe("UNIMPLEMENTED");
  });
});
