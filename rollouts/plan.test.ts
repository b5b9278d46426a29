import { create } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { TaskSchema } from "../gen/index.js";
import { planEpisodes, taskSlug, tasksDigest } from "./plan.js";

const tasks = (...ids: string[]) =>
  ids.map((id) => ({ task: create(TaskSchema, { taskId: { taskset: "s", id } }), place: id }));

it("plans each task, each of its repeats, in order", () => {
  const { episodes, groups } = planEpisodes(tasks("a", "b"), 2, "run1");
  expect(groups).toBe(2);
  expect(episodes.map(({ index, repeat, place }) => [index, repeat, place])).toEqual([
    [0, 0, "a"],
    [1, 1, "a"],
    [2, 0, "b"],
    [3, 1, "b"],
  ]);
  const [first, second, third] = episodes;
  expect(first?.groupId).toBe(second?.groupId);
  expect(first?.groupId).not.toBe(third?.groupId);
});

it.each(["x", "x-a1", "ü".repeat(120), "../../etc", "", " ", "a b", "a_b"])(
  "names any task id %j within R1",
  (id) => {
    const [episode] = planEpisodes(tasks(id), 1, "run0123456789ab").episodes;
    expect(episode?.rolloutId).toMatch(/^[A-Za-z0-9][A-Za-z0-9._-]{0,95}$/);
    expect(episode?.rolloutId).not.toMatch(/-a\d+$/);
  },
);

it("tells task ids apart that look alike", () => {
  const slugs = ["a b", "a_b", "a-b", "A-b"].map((id) =>
    taskSlug(create(TaskSchema, { taskId: { id } }).taskId),
  );
  expect(new Set(slugs).size).toBe(4);
});

it("has another digest for other tasks, another order, other content", () => {
  const one = tasksDigest(tasks("a", "b"));
  expect(tasksDigest(tasks("a", "b"))).toBe(one);
  expect(tasksDigest(tasks("b", "a"))).not.toBe(one);
  const changed = tasks("a", "b");
  if (changed[0] !== undefined) changed[0].task.publicJson = "{}";
  expect(tasksDigest(changed)).not.toBe(one);
});
