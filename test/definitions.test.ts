import { expect, describe as group, it } from "vitest";
import { z } from "zod";
import { defineAgent } from "../servers/agent/define-agent.js";
import { defineEnvironment, type EnvironmentDefinition } from "../servers/environment/define-environment.js";
import { environmentService } from "../servers/environment/environment-service.js";
import { defineDriver } from "../servers/episode/define-driver.js";
import { defineModel } from "../servers/model/define-model.js";
import { createRuntime } from "../servers/runtime/runtime.js";

type World = EnvironmentDefinition<unknown, unknown>;

const world: World = {
  name: "w",
  version: "1",
  reward: { timing: "terminal", minimum: 0, maximum: 1 },
  determinism: "seeded",
  read: () => null,
  seed: () => ({ state: null }),
  verify: () => ({ reward: 1 }),
};
const tool = { description: "Looks.", input: z.object({}), run: () => "a wall" };

/** An environment with what no type allows, as a module that no compiler has seen may have it. */
const misspelt: readonly (readonly [object, string])[] = [
  [{ referenc: () => ({}) }, 'defineEnvironment: unknown key "referenc"; did you mean "reference"?'],
  [
    { determinism: "seedd" },
    'determinism: expected one of its values, found "seedd"; did you mean "seeded"?',
  ],
  [{ determinism: 1 }, "determinism: expected one of its values, found 1; known: seeded"],
  [{ reward: { ...world.reward, visble: true } }, 'reward: unknown key "visble"; did you mean "visible"?'],
  [
    { reward: { ...world.reward, timing: "final" } },
    'reward.timing: expected one of its values, found "final"',
  ],
  [
    { reward: { ...world.reward, stepReward: "sum" } },
    'reward.stepReward: expected one of its values, found "sum"',
  ],
  [{ tools: { look: { ...tool, discription: "x" } } }, 'tools.look: unknown key "discription"; did you mean'],
  [
    { splits: { test: { revision: "1", size: 1, at: () => ({}), lenght: 1 } } },
    'splits.test: unknown key "lenght"',
  ],
  [{ stepKinds: ["item"] }, 'stepKinds: expected one of its values, found "item"; did you mean "items"?'],
  [{ answerBlocks: ["txt"] }, 'answerBlocks: expected one of its values, found "txt"; did you mean "text"?'],
];

group("what an author misspells is refused by its name, with the nearest that is known", () => {
  for (const [change, problem] of misspelt) {
    it(problem, () => {
      const given = { ...world, ...change } as World;
      expect(() => defineEnvironment(given)).toThrow(problem);
      expect(() => environmentService(given, createRuntime())).toThrow(problem);
    });
  }

  for (const key of ["name", "version", "reward", "determinism", "read", "seed", "verify"]) {
    it(`what an author forgets is told by its name: ${key}`, () => {
      const given = { ...world, [key]: undefined } as World;
      const problem = `defineEnvironment: expected the key "${key}", found nothing`;
      expect(() => defineEnvironment(given)).toThrow(problem);
      expect(() => environmentService(given, createRuntime())).toThrow(problem);
    });
  }

  it.each([
    [{ splits: { a: undefined } }, "splits.a: expected an object, found nothing"],
    [{ splits: [] }, "splits: expected an object, found a list"],
    [{ tools: null }, "tools: expected an object, found nothing"],
    [{ tools: { look: "look" } }, 'tools.look: expected an object, found "look"'],
    [{ tools: { look: { ...tool, run: undefined } } }, 'tools.look: expected the key "run", found nothing'],
    [{ reward: { timing: "terminal", maximum: 1 } }, 'reward: expected the key "minimum", found nothing'],
    [{ stepKinds: "items" }, 'stepKinds: expected a list, found "items"'],
  ])("what is no definition is told by its place: %j", (change, problem) => {
    expect(() => defineEnvironment({ ...world, ...change } as unknown as World)).toThrow(problem);
  });

  it("no definition at all likewise", () => {
    const nothing = undefined as never;
    expect(() => defineEnvironment(nothing)).toThrow("defineEnvironment: expected an object, found nothing");
    expect(() => defineAgent(nothing)).toThrow("defineAgent: expected an object, found nothing");
    expect(() => defineModel(nothing)).toThrow("defineModel: expected an object, found nothing");
    expect(() => defineDriver(nothing)).toThrow("defineDriver: expected an object, found nothing");
  });

  it("agents, models and drivers likewise", () => {
    const agent = {
      name: "a",
      version: "1",
      needsModel: false,
      options: z.object({}),
      activate: () => Promise.reject(new Error("never")),
    };
    expect(() => defineAgent({ ...agent, takesReferenc: true } as typeof agent)).toThrow(
      'defineAgent: unknown key "takesReferenc"; did you mean "takesReference"?',
    );
    const model = {
      name: "m",
      version: "1",
      model: "m",
      weightsVersion: "1",
      contextTokens: 10,
      generate: () => Promise.reject(new Error("never")),
      countTokens: () => Promise.resolve(0),
    };
    expect(() => defineModel({ ...model, token: "ids" } as typeof model)).toThrow(
      'defineModel: unknown key "token"; did you mean "tokens"?',
    );
    const driver = { name: "d", run: () => Promise.reject(new Error("never")) };
    expect(() => defineDriver({ ...driver, need: [] } as typeof driver)).toThrow(
      'defineDriver: unknown key "need"; did you mean "needs"?',
    );
  });
});
