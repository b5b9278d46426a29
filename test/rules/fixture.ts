import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type ActionSchema,
  EnvironmentService,
  type Item,
  Role,
  type SubmissionSchema,
  type Task,
  TaskSchema,
} from "../../gen/index.js";
import type { EnvironmentDefinition } from "../../servers/environment/define-environment.js";
import { environmentService } from "../../servers/environment/environment-service.js";
import { textOf } from "../../servers/runtime/items.js";
import type { Limits } from "../../servers/runtime/limits.js";
import type { Principals } from "../../servers/runtime/principals.js";
import { createRuntime } from "../../servers/runtime/runtime.js";
import { type RunningServer, serve } from "../../servers/runtime/serve.js";
import { BareClient } from "../bare-client.js";
import { ManualClock } from "../manual-clock.js";
import { Controls, gatedWorld } from "./gated-world.js";

export const { seed, step, verify, close, keepAlive, listTools, describe } = EnvironmentService.method;

/** A served world, the test's hands on its clock, and plain clients. */
export interface ServedWorld extends AsyncDisposable {
  readonly clock: ManualClock;
  readonly server: RunningServer;
  readonly client: BareClient;
  /** A client on a connection of its own. */
  another(): BareClient;
}

/** The gated world, the test's hands on its gates too. */
export interface Fixture extends ServedWorld {
  readonly controls: Controls;
}

/** Serves an environment. */
export async function serveWorld<Data, State>(
  definition: EnvironmentDefinition<Data, State>,
  parts: { readonly limits?: Partial<Limits>; readonly principals?: Principals } = {},
): Promise<ServedWorld> {
  const clock = new ManualClock();
  const runtime = createRuntime({ clock, ...parts });
  const server = await serve({ runtime, services: [environmentService(definition, runtime)] });
  const clients = [new BareClient(server.url)];
  return {
    clock,
    server,
    client: clients[0] as BareClient,
    another() {
      const client = new BareClient(server.url);
      clients.push(client);
      return client;
    },
    async [Symbol.asyncDispose]() {
      for (const client of clients) client.close();
      await server.close({ drainTimeoutMs: 0 });
    },
  };
}

export async function startFixture(limits: Partial<Limits> = {}): Promise<Fixture> {
  const controls = new Controls();
  const served = await serveWorld(gatedWorld(controls), { limits });
  return {
    ...served,
    controls,
    async [Symbol.asyncDispose]() {
      for (const gate of [controls.seed, controls.step, controls.verify, controls.release]) gate.open();
      await served[Symbol.asyncDispose]();
    },
  };
}

export const canary = "CANARY-7f3a";

/** What a test changes of the task. */
export type TaskChange = Partial<Omit<Task, "$typeName" | "$unknown">>;

export const task = (change: TaskChange = {}): Task =>
  create(TaskSchema, {
    taskId: { id: "t1" },
    environment: "gated",
    privileged: { data: Buffer.from(JSON.stringify({ canary })), mediaType: "application/json" },
    ...change,
  });

export const episodeId = (rolloutId = "r1") => ({ rolloutId, attempt: 0 });

export const seedRequest = (sessionId = "s1", change: TaskChange = {}) => ({
  sessionId,
  context: { episodeId: episodeId(), groupId: "g", groupIndex: 3, labels: { a: "1", b: "2" } },
  source: { case: "task" as const, value: task(change) },
});

export const say = (text: string, agentId = "agent"): MessageInitShape<typeof ActionSchema> => ({
  agentId,
  kind: {
    case: "items",
    value: {
      items: [
        {
          kind: {
            case: "chatMessage",
            value: { role: Role.ASSISTANT, content: [{ kind: { case: "text", value: text } }] },
          },
        },
      ],
    },
  },
});

/** The text of an agent's input. */
export const told = (items: readonly Item[] = []): string =>
  items.map(({ kind }) => (kind.case === "chatMessage" ? textOf(kind.value.content) : "")).join("");

/** A call of a tool. */
export const call = (
  name: string,
  args: object,
  agentId = "agent",
): MessageInitShape<typeof ActionSchema> => ({
  agentId,
  kind: { case: "toolCall", value: { callId: "c", name, argumentsJson: JSON.stringify(args) } },
});

/** A numbered step of whatever actions. */
export const stepOf = (
  stepIndex: number,
  actions: readonly MessageInitShape<typeof ActionSchema>[],
  sessionId = "s1",
) => ({
  sessionId,
  name: { case: "stepIndex" as const, value: stepIndex },
  actions: [...actions],
});

export const stepRequest = (stepIndex: number, text = "go", sessionId = "s1") => ({
  sessionId,
  name: { case: "stepIndex" as const, value: stepIndex },
  actions: [say(text)],
});

export const actionRequest = (actionId: string, text = "go", sessionId = "s1") => ({
  sessionId,
  name: { case: "actionId" as const, value: actionId },
  actions: [say(text)],
});

export const submission = (text: string): MessageInitShape<typeof SubmissionSchema> => {
  const said = say(text).kind;
  return {
    agents: [{ agentId: "agent", items: said?.case === "items" ? (said.value.items ?? []) : [] }],
  };
};

export const verifyRequest = (
  verificationIndex: number,
  {
    final = true,
    answer = "42",
    sessionId = "s1",
  }: { final?: boolean; answer?: string; sessionId?: string } = {},
) => ({
  target: { case: "session" as const, value: { sessionId, verificationIndex, final } },
  submission: submission(answer),
});

export const closeRequest = (sessionId = "s1", rolloutId = "r1") => ({
  sessionId,
  episodeId: episodeId(rolloutId),
});
