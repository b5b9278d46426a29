import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type * as grpc from "@grpc/grpc-js";
import { expect, it } from "vitest";
import { refusal, serveGrpc } from "../clients/fixtures/grpc-server.js";
import { environmentClient, http2Channel } from "../clients/index.js";
import {
  EnvironmentService,
  EnvironmentServiceDescribeResponseSchema,
  Feature,
  type ListTasksRequest,
  ListTasksResponseSchema,
} from "../gen/index.js";
import { ConfigError } from "../servers/composition/config-error.js";
import { listTasks } from "./list-tasks.js";

type Page = MessageInitShape<typeof ListTasksResponseSchema>;

/** Lists from a stranger's environment that answers with these pages, by their tokens. */
async function list(
  pages: (request: ListTasksRequest) => Page | Partial<grpc.StatusObject>,
  features = [Feature.TASK_LISTING],
) {
  await using server = await serveGrpc(EnvironmentService, {
    ListTasks(call: grpc.ServerUnaryCall<ListTasksRequest, unknown>, answer: grpc.sendUnaryData<unknown>) {
      const page = pages(call.request);
      if ("code" in page) answer(page);
      else answer(null, create(ListTasksResponseSchema, page as Page));
    },
  });
  const channel = http2Channel({ url: server.url });
  const described = create(EnvironmentServiceDescribeResponseSchema, {
    environment: "robots",
    service: { features },
  });
  try {
    return await listTasks(
      { from: "listing", split: "test", taskset: "", refuse },
      { client: environmentClient(channel), described },
    );
  } finally {
    await channel.close();
  }
}

const refuse = (text: string) => new ConfigError([`run.tasks.split: ${text}`]);
const task = (id: string) => ({ taskId: { id }, environment: "robots" });

it("reads every page of a split, whole tasks in their order", async () => {
  const tasks = await list(({ split, pageToken, includePrivileged }) => {
    expect([split, includePrivileged]).toEqual(["test", true]);
    return pageToken === ""
      ? { tasks: [task("a"), task("b")], nextPageToken: "2" }
      : { tasks: [task("c")], nextPageToken: "" };
  });
  expect(tasks.map(({ task, place }) => [task.taskId?.id, place])).toEqual([
    ["a", "split test[0]"],
    ["b", "split test[1]"],
    ["c", "split test[2]"],
  ]);
});

it("begins again when the split changes between two pages, and not for ever", async () => {
  let reads = 0;
  const tasks = await list(({ pageToken }) => {
    reads += 1;
    if (pageToken === "")
      return { tasks: [task("a")], nextPageToken: "2", revision: reads === 1 ? "1" : "2" };
    return { tasks: [task("b")], nextPageToken: "", revision: "2" };
  });
  expect([tasks.length, reads]).toEqual([2, 4]);
  let revision = 0;
  const restless = ({ pageToken }: ListTasksRequest): Page => {
    revision += 1;
    return { tasks: [task("a")], nextPageToken: pageToken === "" ? "2" : "", revision: String(revision) };
  };
  await expect(list(restless)).rejects.toThrow('"test" changed each of 3 times that it was read');
});

it("says what is wrong: no feature, no such split, no tasks", async () => {
  await expect(list(() => ({}), [])).rejects.toThrow(
    'run.tasks.split: environment "robots" lists no tasks (feature TASK_LISTING); give a file',
  );
  await expect(list(() => refusal(5, "NAME_UNKNOWN"))).rejects.toThrow(
    'run.tasks.split: "test" cannot be listed: refused: NAME_UNKNOWN',
  );
  await expect(list(() => ({}))).rejects.toThrow('run.tasks.split: "test" has no tasks');
});
