import { fromJsonString, type JsonValue } from "@bufbuild/protobuf";
import { z } from "zod";
import {
  Determinism,
  type EnvironmentServiceDescribeResponse,
  type Reference,
  type Task,
  TaskSchema,
} from "../../../../gen/index.js";
import { validate } from "../../../runtime/validate.js";
import { defineEnvironment, type EnvironmentDefinition } from "../../define-environment.js";
import { soleAgent } from "../../prepared-environment.js";
import { BadTask } from "../../task-source.js";
import { describedPart } from "./described-part.js";
import { type Forwarding, forwardedTool } from "./forwarded-tool.js";
import { measuredElsewhere } from "./measured.js";
import { ofPart, Part, type PartContext, type PartServer } from "./part.js";

const server = z.union([
  z.string().min(1).describe("Name of an environment server of the same configuration."),
  z.strictObject({
    url: z.string().min(1).describe("Where the environment server runs."),
    credential: z.string().min(1).optional().describe("Bearer token of its controller."),
  }),
]);

/** Options of the environment. */
export const facadeOptions = z.strictObject({
  /** Name that tasks repeat. */
  name: z.string().min(1).default("facade"),
  /** Whose tools the agent has. */
  tools: server,
  /** Who says what the agent is asked, and scores its answer. */
  verifier: server,
});

const roles = ["tools", "verifier"] as const;

/** Servers of its configuration that a facade is put together from, by the option that names them. */
export function facadeParts(options: z.output<typeof facadeOptions>): ReadonlyMap<string, string> {
  return new Map(
    roles.flatMap((role) => {
      const named = options[role];
      return typeof named === "string" ? [[role, named] as const] : [];
    }),
  );
}

const secrets = z.strictObject({
  tools: z.json().describe("The task of the environment with the tools, in the contract's JSON."),
  verifier: z.json().describe("The task of the environment that verifies, in the contract's JSON."),
});

/** A task: one of each part's. */
interface Tasks {
  readonly tools: Task;
  readonly verifier: Task;
}

/** A session: one with each part. */
interface Parts extends Forwarding {
  readonly verifier: Part;
  readonly reference: Reference | undefined;
}

/** The task of a part. Throws BadTask, without what stands in it. */
function taskOf(json: JsonValue, which: keyof Tasks): Task {
  try {
    const task = fromJsonString(TaskSchema, JSON.stringify(json));
    validate(TaskSchema, task);
    return task;
  } catch {
    throw new BadTask(
      `privileged.${which}`,
      "expected a whole task in the contract's JSON, with task_id and environment, found something else",
    );
  }
}

/** Begins both sessions. Throws the failure of the one that could not be begun; the other one is closed then. */
async function beginBoth(begin: (which: keyof Tasks) => Promise<Part>): Promise<Record<keyof Tasks, Part>> {
  const [tools, verifier] = await Promise.allSettled([begin("tools"), begin("verifier")]);
  if (tools.status === "fulfilled" && verifier.status === "fulfilled") {
    return { tools: tools.value, verifier: verifier.value };
  }
  for (const begun of [tools, verifier]) {
    if (begun.status === "fulfilled") await begun.value.close().catch(() => undefined);
  }
  throw tools.status === "rejected" ? tools.reason : (verifier as PromiseRejectedResult).reason;
}

/** Where a part is. Throws where its name is no server that is known. */
function serverOf(role: keyof Tasks, server: string | PartServer, { servers }: PartContext): PartServer {
  if (typeof server !== "string") return server;
  const found = servers.get(server);
  if (found !== undefined) return found;
  throw new Error(
    `${role}: expected an environment server that is started here or says where it listens, found "${server}", of which neither holds; start it too, or give it a listen`,
  );
}

/** Seeded where both parts are, stochastic where one is that, else unknown. */
function determinismOf(parts: readonly EnvironmentServiceDescribeResponse[]) {
  const declared = parts.map(({ declarations }) => declarations?.determinism);
  if (declared.every((each) => each === Determinism.SEEDED)) return "seeded";
  return declared.includes(Determinism.STOCHASTIC) ? "stochastic" : "unknown";
}

/**
 * An environment that is put together from two others, which run already: the tools of one, questions and verdicts of
 * the other. Each of its sessions is a session with both. To whoever drives it, it is an environment as any other.
 * Throws where a part cannot be reached, or is none that it can be made of.
 */
export async function facade(
  options: z.input<typeof facadeOptions>,
  context: PartContext,
): Promise<EnvironmentDefinition<Tasks, Parts>> {
  const parsed = facadeOptions.parse(options);
  const { dial, clock } = context;
  const servers = {
    tools: serverOf("tools", parsed.tools, context),
    verifier: serverOf("verifier", parsed.verifier, context),
  };
  const [toolsPart, verifierPart] = await Promise.all([
    describedPart("tools", servers.tools, dial),
    describedPart("verifier", servers.verifier, dial),
  ]);
  const reward = verifierPart.declarations?.reward;
  const tools = toolsPart.declarations?.tools ?? [];
  return defineEnvironment({
    name: parsed.name,
    version: "1.0.0",
    reward: {
      timing: "terminal",
      minimum: reward?.minimum ?? 0,
      maximum: reward?.maximum ?? 1,
      components: reward?.components ?? [],
    },
    determinism: determinismOf([toolsPart, verifierPart]),
    privilegedSchema: secrets,
    verifierRevision: `${verifierPart.environment}@${verifierPart.service?.implementation?.version}`,
    tools: Object.fromEntries(tools.map((each) => [each.name, forwardedTool(each)])),

    read(task) {
      const given = task.privilegedJson(secrets);
      return { tools: taskOf(given.tools, "tools"), verifier: taskOf(given.verifier, "verifier") };
    },

    async seed({ data, seed, signal }) {
      const parts = await beginBoth((which) =>
        Part.begin(servers[which], { task: data[which], seed, signal }, { dial, clock }),
      );
      const [hands] = parts.tools.session.agents;
      const [question] = parts.verifier.session.agents;
      const { reference } = parts.verifier.seeded;
      return {
        state: { ...parts, reference },
        input: [...(question?.input ?? [])],
        tools: (hands?.tools ?? []).map(({ name }) => name),
      };
    },

    async verify({ state: { verifier }, items, artifacts, end, final, signal }) {
      const verificationIndex = verifier.counts.verifications;
      const { sessionId, verifierState } = verifier.session;
      const handedIn = {
        agentId: soleAgent,
        items: [...items],
        artifacts: [...artifacts.values()],
        ...(end === undefined ? {} : { agentEnd: end }),
      };
      const target = { sessionId, verificationIndex, final, verifierState };
      const result = await ofPart(() =>
        verifier.client.verify(
          { target: { case: "session", value: target }, submission: { agents: [handedIn] } },
          { signal },
        ),
      );
      // Whatever came of it, it has used up its index; a call that was refused or lost has not.
      verifier.counts.verifications += 1;
      return measuredElsewhere(result);
    },

    async close({ tools: hands, verifier }) {
      const ended = await Promise.allSettled([hands.close(), verifier.close()]);
      for (const each of ended) if (each.status === "rejected") throw each.reason;
    },

    reference: (_data, { reference }) => reference,
  });
}
