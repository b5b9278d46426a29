import { clone, create } from "@bufbuild/protobuf";
import {
  AgentRequirementsSchema,
  Determinism,
  Feature,
  Placement,
  type SampleWork,
  SeedRequestSchema,
  TaskSchema,
  type VerifyResult,
} from "../../../gen/index.js";
import { milliseconds } from "../shared/durations.js";
import { type EnvironmentTrial, environmentCheck, type OpenSession } from "./environment-trial.js";
import { idlingCheck } from "./known-actions.js";

/** What a session shows of its world before anything is done. */
const start = ({ descriptor }: OpenSession): unknown =>
  descriptor.agents.map(({ agentId, input, observation, tools }) => ({ agentId, input, observation, tools }));

/** Takes one piece of work to its verdict, and tells what came of it apart from ids. */
async function played(t: EnvironmentTrial, session: OpenSession, work: SampleWork): Promise<unknown> {
  const steps = t.has(Feature.STEP) ? await session.play(work) : [];
  const result = t.result("Verify", await session.verify(0, { final: true, submission: work.submission }));
  return {
    steps: steps.map(({ outcomes, terminated, truncated }) => ({ outcomes, terminated, truncated })),
    verdict: verdictOf(result),
  };
}

function verdictOf({ outcome }: VerifyResult): unknown {
  if (outcome.case !== "verdict") return outcome.value;
  const { reward, agentRewards, components, success, masked } = outcome.value;
  return { reward, agentRewards, components, success, masked };
}

function goodOf(t: EnvironmentTrial): SampleWork {
  return t.must(t.fixture.sample.good, "environment.sample.good");
}

/** An agent of the sample's task. */
const agentOf = (t: EnvironmentTrial): string =>
  t.fixture.sample.good?.submission?.agents[0]?.agentId ?? "agent";

/** Seed: what its answer holds, and what is refused. */
export const seedChecks = [
  environmentCheck(
    {
      clause: "ENV-SEED-001",
      name: "descriptor",
      title: "Seed answers a descriptor with the public task identity, the context and the lease.",
      stacks: ["connect-node", "grpc-js"],
    },
    async (t) => {
      const { judge } = t;
      const { descriptor, request } = await t.open();
      const task = request.source.case === "task" ? request.source.value : undefined;
      judge.equal("session.task.task_id", descriptor.task?.taskId, task?.taskId);
      judge.equal("session.task.environment", descriptor.task?.environment, task?.environment);
      judge.equal("session.context", descriptor.context, request.context);
      judge.equal("session.session_id", descriptor.sessionId, request.sessionId);
      const lease = milliseconds(descriptor.lease?.duration);
      judge.that("session.lease.duration", lease !== undefined && lease > 0, {
        expected: "a positive duration",
        actual: descriptor.lease,
      });
    },
  ),
  environmentCheck(
    {
      clause: "ENV-SEED-003",
      name: "wrong-environment",
      title: "another environment's task is refused WRONG_ENVIRONMENT, its own is not.",
      sendsInvalid: true,
    },
    async (t) => {
      const request = t.seedRequest();
      const other = clone(SeedRequestSchema, request);
      if (other.source.case === "task") other.source.value.environment = `${t.described.environment}-other`;
      t.judge.refused("another environment's task", await t.calls.seed(other));
      t.judge.answer("its own, under the same id", await t.calls.seed(request));
    },
  ),
  environmentCheck(
    {
      clause: "ENV-SEED-004",
      name: "malformed-task",
      title: "a malformed task is refused with the path in it.",
      sendsInvalid: true,
    },
    async (t) => {
      const task = t.may(t.fixture.invalid?.task, "environment.invalid.task");
      const path = t.fixture.invalid?.task_path ?? "";
      const request = t.seedRequest();
      const broken = { ...request, source: { case: "task" as const, value: task } };
      const status = t.judge.refused("a malformed task", await t.calls.seed(broken));
      t.judge.names("BadRequest", status, path === "" ? "task" : path);
      t.judge.answer("a good one under the same id", await t.calls.seed(request));
    },
  ),
  environmentCheck(
    {
      clause: "ENV-SEED-005",
      name: "left-out",
      title: "a missing source, session_id or episode id is refused by name.",
      sendsInvalid: true,
    },
    async (t) => {
      const request = t.seedRequest();
      const without = [
        ["source", { ...request, source: { case: undefined } as typeof request.source }],
        ["session_id", { ...request, sessionId: "" }],
        ["context", { ...request, context: t.contextOf({ rolloutId: "" }) }],
      ] as const;
      for (const [field, defect] of without) {
        const status = t.judge.refused(`Seed without ${field}`, await t.calls.seed(defect));
        // A oneof has no field of its own: an implementation may name any of its arms.
        if (field === "source") {
          t.judge.that(
            "BadRequest",
            status.fields.some((one) => /^(source|task|task_id)$/.test(one)),
            {
              expected: "source, task or task_id",
              actual: status.fields,
            },
          );
        } else t.judge.names("BadRequest", status, field);
      }
      t.judge.answer("Seed with all of them", await t.calls.seed(request));
    },
  ),
  environmentCheck(
    {
      clause: "ENV-SEED-006",
      name: "seeded",
      title: "SEEDED: the same task, seed and work give the same observations, rewards and verdict.",
    },
    async (t) => {
      if (t.described.declarations?.determinism !== Determinism.SEEDED) {
        t.notApplicable("the subject does not declare SEEDED");
      }
      const [one, two] = [await t.open(), await t.open()];
      t.judge.equal("how the second session starts", start(two), start(one));
      const work = goodOf(t);
      const first = await played(t, one, work);
      t.judge.equal("what the same work came to", await played(t, two, work), first);
    },
  ),
  environmentCheck(
    {
      clause: "ENV-SEED-007",
      name: "other-seeds",
      title: "SEEDED: of ten seeds some give other worlds, where the fixture says that they do.",
    },
    async (t) => {
      if (t.described.declarations?.determinism !== Determinism.SEEDED) {
        t.notApplicable("the subject does not declare SEEDED");
      }
      t.may(t.fixture.seed_changes === true ? true : undefined, "environment.seed_changes: true");
      const starts = new Set<string>();
      for (let seed = 0n; seed < 10n; seed += 1n) {
        const text = JSON.stringify(start(await t.open({ seed })), (_key, value: unknown) =>
          typeof value === "bigint" ? String(value) : value,
        );
        starts.add(text);
      }
      t.judge.that("worlds of ten seeds", starts.size > 1, {
        expected: "at least two that differ",
        actual: starts.size,
      });
    },
  ),
  environmentCheck(
    {
      clause: "ENV-SEED-008",
      name: "apart",
      title: "work in one session of a task does not show in another.",
    },
    async (t) => {
      const work = goodOf(t);
      const alone = await played(t, await t.open(), work);
      const [one, two] = [await t.open(), await t.open()];
      const bad = t.must(t.fixture.sample.bad, "environment.sample.bad");
      await played(t, one, bad);
      t.judge.equal("the same work beside another session", await played(t, two, work), alone);
    },
  ),
  environmentCheck(
    {
      clause: "ENV-SEED-011",
      name: "tools-sound",
      title: "tool names are unique for each agent, and each schema is a JSON Schema object.",
    },
    async (t) => {
      const { descriptor } = await t.open();
      for (const { agentId, tools } of descriptor.agents) {
        t.judge.equal(
          `tools of ${agentId} that differ`,
          new Set(tools.map(({ name }) => name)).size,
          tools.length,
        );
        for (const { name, inputSchemaJson } of tools) {
          let schema: unknown;
          try {
            schema = JSON.parse(inputSchemaJson);
          } catch {
            schema = undefined;
          }
          const object = typeof schema === "object" && schema !== null && !Array.isArray(schema);
          t.judge.that(`the schema of ${name}`, object, {
            expected: "a JSON object",
            actual: inputSchemaJson,
          });
        }
      }
    },
  ),
  environmentCheck(
    {
      clause: "ENV-SEED-015",
      name: "declarations",
      title: "the descriptor's declarations equal Describe's or narrow them.",
    },
    async (t) => {
      const { descriptor } = await t.open();
      const own = descriptor.declarations?.reward;
      const declared = t.described.declarations?.reward;
      t.judge.equal("reward.timing", own?.timing, declared?.timing);
      t.judge.equal("reward.step_reward", own?.stepReward, declared?.stepReward);
      const low = Number.NEGATIVE_INFINITY;
      const high = Number.POSITIVE_INFINITY;
      t.judge.that(
        "the descriptor's range",
        (own?.minimum ?? low) >= (declared?.minimum ?? low) &&
          (own?.maximum ?? high) <= (declared?.maximum ?? high),
        {
          expected: `within ${declared?.minimum} to ${declared?.maximum}`,
          actual: `${own?.minimum} to ${own?.maximum}`,
        },
      );
      t.judge.equal(
        "determinism",
        descriptor.declarations?.determinism,
        t.described.declarations?.determinism,
      );
    },
  ),
  environmentCheck(
    {
      clause: "ENV-SEED-020",
      name: "placement",
      title: "the placement is one that Describe declares.",
    },
    async (t) => {
      const { placement } = (await t.open()).descriptor;
      t.judge.that("session.placement", t.described.placements.includes(placement), {
        expected: t.described.placements.map((one) => Placement[one]).join(" or "),
        actual: Placement[placement] ?? placement,
      });
    },
  ),
  environmentCheck(
    {
      clause: "ENV-SEED-019",
      name: "one-agent",
      title: "without MULTI_AGENT there is one agent, `agent`.",
    },
    async (t) => {
      if (t.has(Feature.MULTI_AGENT)) t.notApplicable("the subject declares MULTI_AGENT");
      const { agents } = (await t.open()).descriptor;
      t.judge.equal(
        "agents",
        agents.map(({ agentId }) => agentId),
        ["agent"],
      );
    },
  ),
  environmentCheck(
    {
      clause: "ENV-SEED-025",
      name: "unknown-provider",
      title: "an unknown sandbox_provider is refused NAME_UNKNOWN, by name.",
      sendsInvalid: true,
    },
    async (t) => {
      const request = t.seedRequest();
      const status = t.judge.refused(
        "an unknown sandbox_provider",
        await t.calls.seed({ ...request, sandboxProvider: "nope" }),
      );
      t.judge.names("BadRequest", status, "sandbox_provider");
      t.judge.answer("none, under the same id", await t.calls.seed(request));
    },
  ),
  environmentCheck(
    {
      clause: "ENV-SEED-026",
      name: "digest",
      title: "equal tasks have equal digests, and a task with other content has another.",
    },
    async (t) => {
      const digest = (session: OpenSession): string => session.descriptor.task?.digest ?? "";
      const one = digest(await t.open());
      t.judge.differ("session.task.digest", one, "");
      t.judge.equal("the digest of an equal task", digest(await t.open()), one);
      const task = clone(TaskSchema, t.must(t.fixture.sample.task, "environment.sample.task"));
      task.labels = { ...task.labels, [t.id("label")]: "x" };
      t.judge.differ(
        "the digest of other content",
        digest(await t.open({ source: { case: "task", value: task } })),
        one,
      );
    },
  ),
  environmentCheck(
    {
      clause: "ENV-SEED-027",
      name: "next-agents",
      title: "next_agents names agents of the session, and somebody until the end.",
    },
    async (t) => {
      const session = await t.open();
      const known = new Set(session.descriptor.agents.map(({ agentId }) => agentId));
      const answers = await session.play(goodOf(t));
      const turns = [
        { next: session.descriptor.nextAgents, ended: false },
        ...answers.map(({ nextAgents, terminated, truncated }) => ({
          next: nextAgents,
          ended: terminated || truncated,
        })),
      ];
      t.judge.each("the turns", turns, ({ next, ended }, index) => {
        t.judge.equal(`somebody is next after step ${index - 1}`, next.length > 0, !ended);
        t.judge.equal(
          "agents that are not of the session",
          next.filter((agent) => !known.has(agent)),
          [],
        );
      });
    },
  ),
  idlingCheck(
    {
      clause: "ENV-SEED-029",
      name: "limits",
      title: "the task's limit of steps is told, and the step that reaches it is truncated.",
      features: [Feature.STEP],
    },
    async (t) => {
      const task = clone(TaskSchema, t.must(t.fixture.sample.task, "environment.sample.task"));
      const actions = t.must(t.fixture.sample.bad?.steps[0]?.actions, "environment.sample.bad.steps");
      task.limits = { ...(task.limits ?? { $typeName: "touchstone.v1.TaskLimits" }), maxSteps: 2 };
      const session = await t.open({ source: { case: "task", value: task } });
      t.judge.equal("session.limits.max_steps", session.descriptor.limits?.maxSteps, 2);
      const first = t.judge.answer("step 0", await session.step(0, actions));
      t.judge.equal("truncated after step 0", first.truncated, false);
      const last = t.judge.answer("step 1", await session.step(1, actions));
      t.judge.equal("truncated after step 1", last.truncated, true);
      const ended = { code: ["FAILED_PRECONDITION"], reason: ["EPISODE_ENDED"] };
      t.judge.refused("step 2", await session.step(2, actions), ended);
    },
  ),
  environmentCheck(
    {
      clause: "ENV-REQ-001",
      name: "unmet",
      title: "agent_requirements that cannot be met are refused UNSATISFIED_REQUIREMENT.",
      sendsInvalid: true,
    },
    async (t) => {
      const request = t.seedRequest();
      const agentId = agentOf(t);
      const agentRequirements = [
        create(AgentRequirementsSchema, {
          agentId,
          requirements: { mounts: [{ name: "nope", path: "/nope" }] },
        }),
      ];
      t.judge.refused("a mount that nobody has", await t.calls.seed({ ...request, agentRequirements }));
      t.judge.answer("none, under the same id", await t.calls.seed(request));
    },
  ),
  environmentCheck(
    {
      clause: "ENV-REQ-002",
      name: "each-named",
      title: "three requirements that cannot be met are three violations.",
      sendsInvalid: true,
    },
    async (t) => {
      const request = t.seedRequest();
      const mounts = ["nope-1", "nope-2", "nope-3"].map((name) => ({ name, path: `/${name}` }));
      const agentRequirements = [
        create(AgentRequirementsSchema, { agentId: agentOf(t), requirements: { mounts } }),
      ];
      const unsatisfied = { code: ["FAILED_PRECONDITION"], reason: ["UNSATISFIED_REQUIREMENT"] };
      const status = t.judge.refused(
        "three mounts that nobody has",
        await t.calls.seed({ ...request, agentRequirements }),
        unsatisfied,
      );
      const named = new Set(status.fields);
      t.judge.that("violations of BadRequest", named.size >= 3, {
        expected: "one for each requirement",
        actual: status.fields,
      });
      t.judge.answer("none, under the same id", await t.calls.seed(request));
    },
  ),
  environmentCheck(
    {
      clause: "ENV-REQ-005",
      name: "no-box-no-mounts",
      title: "where the placement is NONE, requirements on a sandbox are refused UNSATISFIED_REQUIREMENT.",
      sendsInvalid: true,
    },
    async (t) => {
      const { placement } = (await t.open()).descriptor;
      if (placement !== Placement.NONE) t.notApplicable("the sample's task has a box");
      const request = t.seedRequest();
      const agentRequirements = [
        create(AgentRequirementsSchema, { agentId: agentOf(t), requirements: { ports: [8080] } }),
      ];
      t.judge.refused("a port in no box", await t.calls.seed({ ...request, agentRequirements }));
      t.judge.answer("none, under the same id", await t.calls.seed(request));
    },
  ),
  environmentCheck(
    {
      clause: "ENV-REQ-006",
      name: "task-unmet",
      title: "requirements of the task that cannot be met are refused UNSATISFIED_REQUIREMENT.",
      sendsInvalid: true,
    },
    async (t) => {
      const unmet = t.may(t.fixture.unmet_task, "environment.unmet_task");
      const request = t.seedRequest();
      t.judge.refused(
        "a task that cannot be served",
        await t.calls.seed({ ...request, source: { case: "task", value: unmet } }),
      );
      t.judge.answer("a task that can, under the same id", await t.calls.seed(request));
    },
  ),
];
