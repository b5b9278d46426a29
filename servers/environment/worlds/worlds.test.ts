import { toJsonString } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { Feature, ReferenceSchema, type Task, TaskSchema } from "../../../gen/index.js";
import type { EnvironmentDefinition } from "../define-environment.js";
import { taskCatalogue } from "../tasks/task-catalogue.js";
import { PlayedWorld } from "./fixtures/played-world.js";
import { worlds } from "./index.js";

/** Worlds that list tasks of their own, with the tasks of `test` and the first of an endless `train`. */
const defined = Object.entries(worlds).flatMap(([name, world]) =>
  "create" in world ? [{ name, definition: world.create({}) }] : [],
);
const listing = defined
  .filter(({ definition }) => definition.splits !== undefined)
  .map((each) => ({ ...each, tasks: tasksOf(each.definition) }));

function tasksOf({ name, splits = {} }: EnvironmentDefinition<unknown, unknown>): Task[] {
  const catalogue = taskCatalogue(name, splits);
  return Object.keys(splits).flatMap((split) => {
    const found = catalogue.split(split, "");
    return Array.from({ length: Math.min(found.size ?? 12, 12) }, (_, i) => catalogue.at(found, i));
  });
}

const canaryOf = (task: Task): string =>
  /CANARY-[0-9a-f]+/.exec(new TextDecoder().decode(task.privileged?.data))?.[0] ?? "";

describe.each(listing)("$name", ({ definition, tasks }) => {
  it("lists tasks with unique ids that are found again, each with a canary of its own", () => {
    const catalogue = taskCatalogue(definition.name, definition.splits ?? {});
    for (const task of tasks) {
      const found = task.taskId === undefined ? undefined : catalogue.task(task.taskId);
      expect(found).toEqual(task);
    }
    expect(new Set(tasks.map(({ taskId }) => taskId?.id)).size).toBe(tasks.length);
    expect(new Set(tasks.map(canaryOf)).size).toBe(tasks.length);
    expect(tasks.map(canaryOf)).not.toContain("");
  });

  it("says what its samples earn, step by step (ENV-VRFY-002, ENV-STEP-002)", async () => {
    await using world = await PlayedWorld.serve(definition);
    const { samples } = await world.describe();
    expect(samples.length).toBeGreaterThan(0);
    for (const { task, good, bad } of samples) {
      for (const work of [good, bad]) {
        const session = await world.begin(task ?? {});
        for (const { actions, expectedRewards } of work?.steps ?? []) {
          const [action] = actions;
          if (action === undefined) continue;
          expect((await session.act(action.kind, action.agentId)).error).toBeUndefined();
          expect(session.rewards.at(-1)).toBe(expectedRewards[action.agentId]?.value);
        }
        const verdict = await session.verify(work?.submission ?? {});
        expect(verdict.reward?.value).toBe(work?.expectedReward?.value);
      }
    }
  });

  it("keeps its canaries out of descriptors, answers, errors, verdicts, references and logs (R16)", async () => {
    await using world = await PlayedWorld.serve(definition);
    for (const task of tasks) {
      const session = await world.begin(task);
      for (const agentId of session.session.nextAgents) {
        for (const tool of session.tools.get(agentId) ?? []) {
          await session.call(tool, {}, agentId);
          await session.call(tool, { canary: 1 }, agentId);
        }
        await session.call("no-such-tool", {}, agentId);
      }
      await session.playReference(session.session.nextAgents[0] ?? "agent").catch(() => undefined);
      await session.verify().catch(() => undefined);
      await session.close();
      const reference =
        session.reference === undefined ? "" : toJsonString(ReferenceSchema, session.reference);
      for (const text of [...world.told, reference]) expect(text).not.toContain(canaryOf(task));
      world.told.length = 0;
    }
  });

  it("keeps them out of what Describe and a listing tell everybody", async () => {
    await using world = await PlayedWorld.serve(definition);
    const open = tasks
      .map((task) => toJsonString(TaskSchema, { ...task, privileged: undefined } as Task))
      .join();
    expect(open).not.toContain("CANARY-");
    const { service, declarations } = await world.describe();
    expect(JSON.stringify([service?.features, declarations?.tools])).not.toContain("CANARY-");
  });
});

const stateless = listing.filter(({ definition }) => definition.stateless === true);

describe.each(stateless)("$name", ({ definition }) => {
  it("verifies its samples by task, seed and steps alone (ENV-SLVR-001, ENV-SLVR-005)", async () => {
    await using world = await PlayedWorld.serve(definition);
    const { samples, service } = await world.describe();
    expect(service?.features).toContain(Feature.STATELESS_VERIFY);
    for (const { task, good, bad } of samples) {
      for (const work of [good, bad]) {
        const steps = (work?.steps ?? []).map(({ actions }, stepIndex) => ({ stepIndex, actions }));
        const { agents = [] } = work?.submission ?? {};
        const verdict = await world.verifyStateless(task ?? {}, { agents, steps });
        expect(verdict.reward?.value).toBe(work?.expectedReward?.value);
      }
    }
  });
});

/** Worlds of one agent: what its reference and what nothing at all earn. */
const alone = listing.filter(({ definition }) => definition.agents === undefined);

describe.each(alone)("$name", ({ definition, tasks }) => {
  it("gives the reference the ceiling, nothing the floor, the same each time (ENV-SEED-006)", async () => {
    await using world = await PlayedWorld.serve(definition);
    const { maximum, minimum } = definition.reward;
    for (const task of tasks) {
      const verdicts: unknown[] = [];
      for (let time = 0; time < 2; time += 1) {
        const oracle = await world.begin(task);
        await oracle.playReference();
        for (const _stage of oracle.session.stages.slice(1)) {
          await oracle.verify({}, { final: false });
          await oracle.advance();
          await oracle.playReference();
        }
        const items = oracle.reference?.items ?? [];
        const verdict = await oracle.verify({ agents: [{ agentId: "agent", items }] });
        expect(verdict).toMatchObject({ reward: { value: maximum }, success: true });
        verdicts.push([oracle.rewards, { ...verdict, provenance: undefined }]);
        await oracle.close();
      }
      expect(verdicts[0]).toEqual(verdicts[1]);
      const noop = await world.begin(task);
      expect(await noop.verify()).toMatchObject({ reward: { value: minimum }, success: false });
      await noop.close();
    }
  });
});
