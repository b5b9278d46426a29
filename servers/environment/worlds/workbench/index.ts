import { z } from "zod";
import {
  BadTask,
  defineEnvironment,
  type EnvironmentDefinition,
  type ToolContext,
  type ToolDefinition,
  type ToolInput,
  toolCallItem,
  userMessage,
} from "../../../index.js";
import { canary, canaryField, hidden } from "../hidden-data.js";
import { type NumberedTask, numberedSplit } from "../numbered-split.js";
import { type SampleCall, sampleSteps } from "../sample-steps.js";
import { seedOf } from "../seed-of.js";
import { randomJob } from "./jobs.js";
import {
  contentsOf,
  differences,
  type Facts,
  factsOf,
  type OfficeContents,
  officeSchema,
  openOffice,
} from "./office.js";
import { type Desk, tools } from "./tools.js";

/** Options of the environment: none. */
export const workbenchOptions = z.strictObject({});

const secrets = z.strictObject({
  office: officeSchema.describe("What stands in the database at first."),
  solution: z
    .array(z.strictObject({ tool: z.string(), args: z.record(z.string(), z.unknown()) }))
    .min(1)
    .describe("Calls that lead to the state in which the database must be."),
  canary: canaryField,
});
type Secrets = z.output<typeof secrets>;

/** A task that was read. */
interface Assignment extends Secrets {
  readonly expected: Facts;
}

/** An office that is worked in. */
interface Work extends Desk {
  readonly expected: Facts;
  /** Rows that differed from the expected state at first. */
  readonly wrong: number;
  /** The most of them that were right at once. */
  best: number;
}

const total = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((sum, count) => sum + count, 0);

type AnyTool = ToolDefinition<ToolInput, Desk>;
const anyTools = tools as unknown as Readonly<Record<string, AnyTool>>;

/** The state in which an office must be in the end. Throws BadTask where the solution does not lead to another one. */
function expectedOf({ office: contents, solution }: Secrets): Facts {
  const office = openOffice(contents);
  try {
    const before = factsOf(office);
    for (const [i, { tool: name, args }] of solution.entries()) callOf(office, { name, args }, i);
    const after = factsOf(office);
    if (total(differences(before, after)) > 0) return after;
    throw new BadTask("privileged.solution", "expected calls that change the office, found none");
  } finally {
    office.close();
  }
}

function callOf(office: Desk["office"], { name, args }: SampleCall, i: number): void {
  const definition = Object.hasOwn(anyTools, name) ? anyTools[name] : undefined;
  const parsed = (definition?.input as z.ZodType | undefined)?.safeParse(args);
  const context: ToolContext<Desk> = { state: { office }, agentId: "", signal: new AbortController().signal };
  try {
    if (definition !== undefined && parsed?.success === true) {
      void definition.run(parsed.data as Record<string, unknown>, context);
      return;
    }
  } catch {
    // What does not run is as wrong as what cannot be read.
  }
  throw new BadTask(`privileged.solution[${i}]`, "expected a call that one of the tools can make");
}

/** What a call earned: half of the reward is for rows that come right for the first time, and is never taken back. */
function progress(work: Work): number {
  const right = work.wrong - total(differences(work.expected, factsOf(work.office)));
  const gained = Math.max(0, right - work.best);
  work.best += gained;
  return gained / work.wrong / 2;
}

/** A tool whose calls are rewarded. */
const rewarded = (definition: AnyTool): ToolDefinition<ToolInput, Work> => ({
  ...definition,
  run: (args, context) => ({
    content: definition.run(args, context) as string | object,
    reward: progress(context.state),
  }),
});

/** A task of a number. */
function generated(id: string, index: number): NumberedTask {
  const { request, office, solution } = randomJob(index, seedOf(`workbench/${id}`));
  return {
    input: [userMessage(request)],
    privileged: hidden({ office, solution, canary: canary("workbench", id) }),
  };
}

const revision = "1";

/**
 * An office with mail, calendar and tickets in an SQLite database of its own. Calls earn half of the reward by the rows
 * that they bring right; the verifier, which compares the whole database with what it should be, gives the other half.
 */
export const workbench = (
  _options: z.output<typeof workbenchOptions>,
): EnvironmentDefinition<Assignment, Work> =>
  defineEnvironment({
    name: "workbench",
    version: "1.0.0",
    reward: { timing: "hybrid", minimum: 0, maximum: 1, components: ["progress", "state"] },
    determinism: "seeded",
    stateless: true,
    strictArguments: true,
    privilegedSchema: secrets,
    splits: {
      train: numberedSplit({ revision, taskset: "workbench", name: "train", make: generated }),
      test: numberedSplit({ revision, taskset: "workbench", name: "test", size: 60, make: generated }),
    },

    read(task) {
      const data = task.privilegedJson(secrets);
      return { ...data, expected: expectedOf(data) };
    },

    seed({ data: { office: contents, expected } }) {
      const office = openOffice(contents);
      return { state: { office, expected, wrong: total(differences(factsOf(office), expected)), best: 0 } };
    },

    tools: Object.fromEntries(Object.entries(anyTools).map(([name, each]) => [name, rewarded(each)])),

    verify({ state }) {
      const differing = differences(factsOf(state.office), state.expected);
      const success = total(differing) === 0;
      const components = { progress: state.best / state.wrong, state: success ? 1 : 0 };
      return {
        reward: components.progress / 2 + components.state / 2,
        success,
        components,
        diagnostics: {
          differs: Object.keys(differing).filter((table) => differing[table as keyof Facts] > 0),
        },
      };
    },

    fork: (work) => ({ ...work, office: openOffice(contentsOf(work.office)) }),

    close: ({ office }) => void office.close(),

    reference: ({ solution }) => ({
      items: solution.map(({ tool: name, args }, i) =>
        toolCallItem({ callId: `call-${i}`, name, argumentsJson: JSON.stringify(args) }),
      ),
    }),

    samples() {
      const office: OfficeContents = {
        mails: [],
        events: [
          { id: 1, title: "Launch", day: "2030-05-10", start: "09:00", attendees: "ana@office.example" },
        ],
        tickets: [{ id: 1, title: "Cake", status: "open", priority: "low", assignee: "ana@office.example" }],
      };
      const close: SampleCall = { name: "update_ticket", args: { id: 1, status: "closed" } };
      const moved: SampleCall = { name: "move_event", args: { id: 1, day: "2030-05-11", start: "09:00" } };
      const solution = [close, moved].map(({ name, args }) => ({ tool: name, args }));
      return [
        {
          task: {
            taskId: { taskset: "workbench", id: "sample" },
            environment: "workbench",
            input: [userMessage('Close the ticket "Cake", and move the event "Launch" to the day after.')],
            privileged: hidden({ office, solution, canary: canary("workbench", "sample") }),
          },
          good: {
            steps: sampleSteps([
              { ...close, reward: 0.25 },
              { ...moved, reward: 0.25 },
            ]),
            expectedReward: { value: 1 },
          },
          bad: {
            steps: sampleSteps([
              { ...close, reward: 0.25 },
              { name: "update_ticket", args: { id: 1, status: "open" }, reward: 0 },
            ]),
            expectedReward: { value: 0.25 },
          },
        },
      ];
    },
  });
