import {
  ActionKind,
  Determinism,
  Feature,
  Placement,
  RewardTiming,
  StepReward,
  VerifyIsolation,
} from "../../../gen/index.js";
import { environmentCheck } from "./environment-trial.js";

const jsonObject = (text: string): Record<string, unknown> | undefined => {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
};

/** Describe: what an environment says of its world. */
export const describeEnvironmentChecks = [
  environmentCheck(
    {
      clause: "ENV-DESC-001",
      name: "declared",
      title: "reward timing, step_reward and determinism are declared.",
    },
    async (t) => {
      const { reward, determinism } = t.described.declarations ?? {};
      t.judge.differ("declarations.reward.timing", reward?.timing ?? 0, RewardTiming.UNSPECIFIED);
      t.judge.differ("declarations.reward.step_reward", reward?.stepReward ?? 0, StepReward.UNSPECIFIED);
      t.judge.differ("declarations.determinism", determinism ?? 0, Determinism.UNSPECIFIED);
    },
  ),
  environmentCheck(
    {
      clause: "ENV-DESC-002",
      name: "timing-fits",
      title: "TERMINAL goes with NONE, STEP and HYBRID with DELTA or CUMULATIVE.",
    },
    async (t) => {
      const { timing, stepReward = StepReward.UNSPECIFIED } = t.described.declarations?.reward ?? {};
      const right =
        timing === RewardTiming.TERMINAL ? [StepReward.NONE] : [StepReward.DELTA, StepReward.CUMULATIVE];
      t.judge.that("declarations.reward.step_reward", right.includes(stepReward), {
        expected: `${right.map((one) => StepReward[one]).join(" or ")} with ${RewardTiming[timing ?? 0]}`,
        actual: StepReward[stepReward] ?? stepReward,
      });
    },
  ),
  environmentCheck(
    {
      clause: "ENV-DESC-003",
      name: "range",
      title: "the reward range is finite, least <= greatest; component names are unique.",
    },
    async (t) => {
      const { minimum, maximum, components = [], unscored } = t.described.declarations?.reward ?? {};
      if (unscored !== true) {
        const sound =
          minimum !== undefined &&
          maximum !== undefined &&
          Number.isFinite(minimum) &&
          Number.isFinite(maximum) &&
          minimum <= maximum;
        t.judge.that("declarations.reward", sound, {
          expected: "finite minimum <= maximum",
          actual: `${minimum} to ${maximum}`,
        });
      }
      t.judge.equal("components that differ", new Set(components).size, components.length);
    },
  ),
  environmentCheck(
    {
      clause: "ENV-DESC-004",
      name: "kinds-with-step",
      title: "action kinds are declared exactly when STEP is.",
    },
    async (t) => {
      const kinds = t.described.declarations?.actionKinds ?? [];
      t.judge.equal("action kinds are declared", kinds.length > 0, t.has(Feature.STEP));
      t.judge.that("action kinds", !kinds.includes(ActionKind.UNSPECIFIED), {
        expected: "none of them UNSPECIFIED",
        actual: kinds,
      });
    },
  ),
  environmentCheck(
    {
      clause: "ENV-DESC-005",
      name: "placements",
      title: "placements and verify isolations are declared.",
    },
    async (t) => {
      t.judge.each("placements", t.described.placements, (one) =>
        t.judge.differ("a placement", one, Placement.UNSPECIFIED),
      );
      t.judge.that("verify_isolations", t.described.verifyIsolations.length > 0, {
        expected: "at least one",
        actual: "none",
      });
      for (const one of t.described.verifyIsolations) {
        t.judge.differ("a verify isolation", one, VerifyIsolation.UNSPECIFIED);
      }
    },
  ),
  environmentCheck(
    {
      clause: "ENV-DESC-006",
      name: "splits",
      title: "splits are named, unique, each with a revision.",
    },
    async (t) => {
      const { splits } = t.described;
      t.judge.that("splits", splits.length > 0, { expected: "at least one", actual: "none" });
      for (const { name, revision } of splits) {
        t.judge.that("a split", name !== "" && revision !== "", {
          expected: "a name and a revision",
          actual: { name, revision },
        });
      }
      const keys = splits.map(({ taskset, name }) => `${taskset}/${name}`);
      t.judge.equal("splits that differ", new Set(keys).size, splits.length);
    },
  ),
  environmentCheck(
    {
      clause: "ENV-DESC-007",
      name: "providers-are-names",
      title: "sandbox providers are names: no host, port or URL is in them.",
    },
    async (t) => {
      const addresses = t.described.sandboxProviders.filter((name) => /[/:@]|^\d+(\.\d+){3}$/.test(name));
      t.judge.equal("sandbox providers that look like addresses", addresses, []);
    },
  ),
  environmentCheck(
    {
      clause: "ENV-DESC-008",
      name: "schemas",
      title: "the task's public_json and privileged JSON have JSON Schemas in Describe.",
    },
    async (t) => {
      const task = t.must(t.fixture.sample.task, "environment.sample.task");
      const { publicSchemaJson, privilegedSchemaJson } = t.described;
      const schemas = [
        ["public_schema_json", publicSchemaJson, task.publicJson !== ""],
        ["privileged_schema_json", privilegedSchemaJson, task.privileged?.mediaType === "application/json"],
      ] as const;
      for (const [name, text, needed] of schemas) {
        if (!needed && text === "") {
          t.judge.equal(`${name} of tasks that have none`, text, "");
          continue;
        }
        const schema = jsonObject(text);
        t.judge.that(name, schema !== undefined, { expected: "a JSON object", actual: text });
        const dialect = schema?.["$schema"];
        t.judge.that(`${name}.$schema`, dialect === undefined || String(dialect).includes("2020-12"), {
          expected: "2020-12, or none",
          actual: dialect,
        });
      }
    },
  ),
  environmentCheck(
    {
      clause: "ENV-DESC-009",
      name: "spaces-hold",
      title: "spaces or tools are declared, and the observations of the good work fit their space.",
    },
    async (t) => {
      const {
        actionKinds = [],
        actionSpace = [],
        observationSpace = [],
        tools = [],
      } = t.described.declarations ?? {};
      const session = await t.open();
      const own = session.descriptor.agents.flatMap((agent) => agent.tools);
      if (actionKinds.includes(ActionKind.TOOL_CALL)) {
        t.judge.that("tools", tools.length + own.length > 0, { expected: "to be declared", actual: "none" });
      }
      if (actionKinds.includes(ActionKind.CONTENT)) {
        t.judge.that("declarations.action_space", actionSpace.length > 0, {
          expected: "to be declared with actions of kind CONTENT",
          actual: "nothing",
        });
      }
      const answers = await session.play(t.must(t.fixture.sample.good, "environment.sample.good"));
      const tensors = answers
        .flatMap(({ outcomes }) => outcomes)
        .flatMap(({ observation }) => observation?.content ?? [])
        .flatMap(({ kind }) => (kind.case === "tensor" ? [kind.value] : []));
      const names = new Set(observationSpace.map(({ name }) => name));
      for (const tensor of tensors) {
        t.judge.that(`tensor ${tensor.name}`, names.has(tensor.name), {
          expected: `one of ${[...names].join(", ") || "none"}`,
          actual: tensor.name,
        });
        const space = observationSpace.find(({ name }) => name === tensor.name);
        t.judge.equal(`the element type of ${tensor.name}`, tensor.elementType, space?.elementType);
      }
      if (t.judge.judged === answers.length) t.notApplicable("it has neither tools nor tensors");
    },
  ),
];
