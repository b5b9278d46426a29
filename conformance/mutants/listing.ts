import { create } from "@bufbuild/protobuf";
import { type ListTasksRequest, ListTasksResponseSchema, MetricSchema } from "../../gen/index.js";
import { around, inAnswers, inRequests, instead } from "./calls.js";
import { reasonOf } from "./errors-told.js";
import type { Mutant } from "./mutant.js";

/** Splits hold these ids, in this order. */
const isId = (id: string) => (task: { taskId?: { id: string } | undefined }) => task.taskId?.id === id;

let listed = 0;

/** TASK_LISTING and METRICS. */
export const listingMutants: readonly Mutant[] = [
  {
    name: "last-page-lost",
    clause: "ENV-LIST-001",
    what: "does not list the last task where it is not on the first page",
    build: inAnswers("listTasks", (answer, { pageToken }: ListTasksRequest) => {
      if (pageToken !== "") answer.tasks = answer.tasks.filter((task) => !isId("six")(task));
    }),
  },
  {
    name: "order-random",
    clause: "ENV-LIST-002",
    what: "lists the tasks of a page in another order each time",
    build: inAnswers("listTasks", ({ tasks }) => {
      if (++listed % 2 === 0) tasks.reverse();
    }),
  },
  {
    name: "id-twice",
    clause: "ENV-LIST-003",
    what: "gives two tasks one id",
    build: inAnswers("listTasks", ({ tasks }) => {
      const last = tasks.find(isId("six"));
      if (last?.taskId !== undefined) last.taskId.id = "five";
    }),
  },
  {
    name: "page-size-ignored",
    clause: "ENV-LIST-004",
    what: "lists all tasks on each page",
    build: inRequests("listTasks", (request) => {
      if (request.pageSize > 0) request.pageSize = 0;
    }),
  },
  {
    name: "unknown-split-empty",
    clause: "ENV-LIST-005",
    what: "lists no tasks of a split that there is not",
    build: instead(
      "listTasks",
      (error) => reasonOf(error) === "NAME_UNKNOWN",
      () => create(ListTasksResponseSchema),
    ),
  },
  {
    name: "gettask-differs",
    clause: "ENV-LIST-006",
    what: "gets another task than it lists",
    build: inAnswers("getTask", ({ task }) => {
      if (task !== undefined) task.publicJson = "{}";
    }),
  },
  {
    name: "by-id-other-world",
    clause: "ENV-LIST-007",
    what: "begins another task where its id is given",
    build: inRequests("seed", ({ source }) => {
      const next: Record<string, string> = { zero: "one", one: "two", two: "one", three: "one" };
      if (source.case === "taskId") source.value.id = next[source.value.id] ?? source.value.id;
    }),
  },
  {
    name: "foreign-token-page-one",
    clause: "ENV-LIST-009",
    what: "lists the first page where the page token is not its own",
    build: around("listTasks", async ({ request }, next) => {
      try {
        return await next();
      } catch (error) {
        if (reasonOf(error) !== "INVALID_FIELD" || request.pageToken === "") throw error;
        return await next({ ...request, pageToken: "" });
      }
    }),
  },
  {
    name: "negative-page-all",
    clause: "ENV-LIST-010",
    what: "takes a negative page size",
    build: inRequests("listTasks", (request) => {
      if (request.pageSize < 0) request.pageSize = 0;
    }),
  },
  {
    name: "failure-counts-as-zero",
    clause: "ENV-METR-001",
    what: "counts failures as rewards of 0",
    build: inAnswers("aggregateMetrics", ({ metrics, scored, failed }) => {
      for (const metric of metrics) {
        if (scored > 0n) metric.value *= Number(scored) / Number(scored + failed);
      }
    }),
  },
  {
    name: "order-dependent",
    clause: "ENV-METR-002",
    what: "aggregates otherwise each time",
    build: inAnswers("aggregateMetrics", ({ metrics }) => {
      for (const metric of metrics) metric.value += ++listed / 1_000;
    }),
  },
  {
    name: "empty-mean-0",
    clause: "ENV-METR-003",
    what: "says that the mean of nothing is 0",
    build: inAnswers("aggregateMetrics", ({ metrics, scored }) => {
      if (scored === 0n) metrics.push(create(MetricSchema, { name: "mean_reward", value: 0 }));
    }),
  },
  {
    name: "masked-in-mean",
    clause: "ENV-METR-004",
    what: "counts masked verdicts among the scored",
    build: inAnswers("aggregateMetrics", (answer) => {
      answer.scored += answer.masked;
      answer.masked = 0n;
    }),
  },
  {
    name: "unscored-is-zero",
    clause: "ENV-METR-005",
    what: "counts what has no reward among the scored",
    build: inAnswers("aggregateMetrics", (answer) => {
      answer.scored += answer.unscored;
      answer.unscored = 0n;
    }),
  },
];
