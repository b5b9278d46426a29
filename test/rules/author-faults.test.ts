import { expect, describe as group, it } from "vitest";
import { FailureKind, Retry, Stage } from "../../gen/index.js";
import {
  defineEnvironment,
  type EnvironmentDefinition,
} from "../../servers/environment/define-environment.js";
import type { AgentStarts, Started } from "../../servers/environment/definition/beginning.js";
import type { AgentStepResult, StepResult } from "../../servers/environment/definition/stepping.js";
import type { Measured } from "../../servers/environment/definition/verifying.js";
import * as fixture from "./fixture.js";

const { seed, step, verify, close, say, stepOf } = fixture;

/** What an author gives back, or does, in each function. */
interface Given {
  readonly agents?: readonly string[];
  readonly read?: () => null;
  readonly started?: Omit<Started<object>, "state">;
  readonly stepped?: StepResult;
  readonly measured?: Measured;
  readonly timing?: "terminal" | "step";
}

const world = (given: Given): EnvironmentDefinition<null, object> =>
  defineEnvironment<null, object>({
    name: "gated",
    version: "1.0.0",
    reward: { timing: given.timing ?? "step", minimum: 0, maximum: 1, components: ["known"] },
    determinism: "seeded",
    ...(given.agents === undefined ? {} : { agents: given.agents }),
    read: given.read ?? (() => null),
    seed: () => ({ state: {}, ...given.started }),
    step: () => (given.stepped === undefined ? {} : given.stepped),
    verify: () => given.measured ?? { reward: 1 },
  });

const two = ["a", "b"];

group("what an author gives that cannot be is a failure of the operation", () => {
  it("a read that breaks fails Seed, is replayed and holds no capacity; no word of it gets out (ENV-SEED-010)", async () => {
    let reads = 0;
    const read = (): null => {
      reads += 1;
      throw new Error("/secret/path");
    };
    await using f = await fixture.serveWorld(world({ read }), { limits: { maxSessions: 1 } });
    const failed = await f.client.unary(seed, fixture.seedRequest());
    expect(failed.error).toMatchObject({
      code: "INTERNAL",
      reason: "OPERATION_FAILED",
      failure: { kind: FailureKind.SEED_FAILED, stage: Stage.SEED, retry: Retry.NEVER },
    });
    expect(failed.error?.message).not.toContain("secret");
    const again = await f.client.unary(seed, fixture.seedRequest());
    expect(again.delivery).toBe("replayed");
    expect(again.error?.metadata["answer_id"]).toBe(failed.error?.metadata["answer_id"]);
    expect(reads).toBe(1);
    const other = await f.client.unary(seed, fixture.seedRequest("s2"));
    expect(other.error?.failure?.kind).toBe(FailureKind.SEED_FAILED);
    expect((await f.client.unary(close, fixture.closeRequest())).message?.receipt).toMatchObject({
      cleanupConfirmed: true,
      neverOpened: false,
    });
  });

  const starts: Readonly<Record<string, Given>> = {
    "an agent that there is not": { agents: two, started: { agents: { c: {} } } },
    "an agent that acts first and is not there": { agents: two, started: { next: ["c"] } },
    "nobody who acts first": { started: { next: [] } },
    "a tool that there is not": { started: { tools: ["nothing"] } },
    "an input beside those of several agents": { agents: two, started: { input: "whose?" } },
    "a field that is misspelt": { started: { inputs: "x" } as AgentStarts },
    "an input that is a number": { started: { input: 5 as unknown as string } },
    "a field of an agent's start that is misspelt": {
      started: { agents: { agent: { inputs: "x" } as AgentStarts } },
    },
    "another agent where there is one": { started: { agents: { other: { input: "x" } } } },
  };
  for (const [what, given] of Object.entries(starts)) {
    it(`a seed with ${what}`, async () => {
      await using f = await fixture.serveWorld(world(given));
      const { error } = await f.client.unary(seed, fixture.seedRequest());
      expect(error).toMatchObject({
        reason: "OPERATION_FAILED",
        failure: { kind: FailureKind.SEED_FAILED, stage: Stage.SEED },
      });
    });
  }

  const steps: Readonly<Record<string, Given>> = {
    "an outcome of an agent that there is not": { stepped: { outcomes: { nobody: {} } } },
    "a next agent that there is not": { stepped: { next: ["nobody"] } },
    "nobody next": { agents: two, stepped: { next: [] } },
    "a next agent whose part has ended": { agents: two, stepped: { terminated: true, next: ["a"] } },
    "an end of the one who is next": { agents: two, stepped: { terminated: true } },
    "a reward that is declared never to be": { timing: "terminal", stepped: { reward: 0 } },
    "a field that is misspelt": { stepped: { rewrd: 0.5 } as StepResult },
    "nothing at all": { stepped: null as unknown as StepResult },
    "an end that is text": { stepped: { terminated: "no" as unknown as boolean } },
    "a field of an outcome that is misspelt": {
      stepped: { outcomes: { agent: { observations: "x" } as AgentStepResult } },
    },
    "info that is a list": { stepped: { info: [] } },
    "info that cannot be written": { stepped: { info: { n: 1n } } },
  };
  for (const [what, given] of Object.entries(steps)) {
    it(`a step with ${what}`, async () => {
      await using f = await fixture.serveWorld(world(given));
      await f.client.unary(seed, fixture.seedRequest());
      const { error } = await f.client.unary(step, stepOf(0, [say("x", given.agents?.[0])]));
      expect(error).toMatchObject({
        reason: "OPERATION_FAILED",
        failure: { kind: FailureKind.STEP_FAILED, stage: Stage.STEP },
      });
      const next = await f.client.unary(step, stepOf(1, [say("x", given.agents?.[0])]));
      expect(next.error?.reason).toBe("SESSION_FAILED");
    });
  }

  it("names the field and what is right, by the words of the author", async () => {
    const reasons = async (given: Given): Promise<string | undefined> => {
      await using f = await fixture.serveWorld(world(given));
      const seeded = await f.client.unary(seed, fixture.seedRequest());
      if (seeded.error !== undefined) return seeded.error.failure?.reason;
      const stepped = await f.client.unary(step, stepOf(0, [say("x")]));
      return stepped.error?.failure?.reason;
    };
    expect(await reasons({ started: { inputs: "x" } as AgentStarts })).toBe(
      'seed: unknown field "inputs"; did you mean "input"?',
    );
    expect(await reasons({ stepped: { rewrd: 1 } as StepResult })).toBe(
      'step: unknown field "rewrd"; did you mean "reward"?',
    );
    expect(await reasons({ stepped: 0.5 as StepResult })).toBe(
      "step gave 0.5; expected an object with observation, reward, terminated, truncated, ...",
    );
    expect(await reasons({ stepped: { reward: "0.5" as unknown as number } })).toBe(
      'the step\'s reward: expected a finite number from 0 to 1, the declared range, found "0.5"',
    );
    expect(await reasons({ stepped: { terminated: "no" as unknown as boolean } })).toBe(
      'step: terminated: expected a boolean, found "no"',
    );
  });

  it("a step of several agents with an outcome that is whose?", async () => {
    const given: Given = { agents: two, started: { next: two }, stepped: { reward: 1 } };
    await using f = await fixture.serveWorld(world(given));
    await f.client.unary(seed, fixture.seedRequest());
    const { error } = await f.client.unary(step, stepOf(0, [say("x", "a"), say("x", "b")]));
    expect(error?.failure?.kind).toBe(FailureKind.STEP_FAILED);
  });

  const verdicts: Readonly<Record<string, readonly [Measured, FailureKind]>> = {
    "neither a reward nor a reason": [{}, FailureKind.VERIFIER_FAILED],
    "a field that is misspelt": [{ reward: 1, sucess: true } as Measured, FailureKind.VERIFIER_FAILED],
    "a bare number": [1 as Measured, FailureKind.VERIFIER_FAILED],
    "a success that is text": [
      { reward: 1, success: "no" as unknown as boolean },
      FailureKind.VERIFIER_FAILED,
    ],
    "a reward that is text": [{ reward: "0.5" as unknown as number }, FailureKind.INVALID_REWARD],
    "an undeclared component": [{ reward: 1, components: { other: 1 } }, FailureKind.VERIFIER_FAILED],
    "a component that is not finite": [
      { reward: 1, components: { known: Number.NaN } },
      FailureKind.VERIFIER_FAILED,
    ],
    "a component out of the range": [{ reward: 1, components: { known: 2 } }, FailureKind.VERIFIER_FAILED],
    "a metric that is not finite": [
      { reward: 1, metrics: { m: Number.POSITIVE_INFINITY } },
      FailureKind.VERIFIER_FAILED,
    ],
    "a mask without a reason": [{ reward: 1, masked: { reason: "" } }, FailureKind.VERIFIER_FAILED],
    "diagnostics that are a list": [{ reward: 1, diagnostics: [] }, FailureKind.VERIFIER_FAILED],
    "a reward of an agent that there is not": [
      { reward: 1, agentRewards: { nobody: 1 } },
      FailureKind.VERIFIER_FAILED,
    ],
    "a reward that is not finite": [{ reward: Number.NaN }, FailureKind.INVALID_REWARD],
    "a reward out of the range": [{ reward: 1.5 }, FailureKind.INVALID_REWARD],
    "an agent's reward that is not finite": [
      { reward: 1, agentRewards: { agent: Number.NaN } },
      FailureKind.INVALID_REWARD,
    ],
    "an agent's reward out of the range": [
      { reward: 1, agentRewards: { agent: -1 } },
      FailureKind.INVALID_REWARD,
    ],
  };
  for (const [what, [measured, kind]] of Object.entries(verdicts)) {
    it(`a verdict with ${what} (ENV-VRFY-004, ENV-VRFY-005)`, async () => {
      await using f = await fixture.serveWorld(world({ measured }));
      await f.client.unary(seed, fixture.seedRequest());
      const judged = await f.client.stream(verify, fixture.verifyRequest(0));
      expect(judged.messages.at(-1)?.event.value).toMatchObject({
        outcome: { case: "failure", value: { kind, stage: Stage.VERIFY } },
      });
      const again = await f.client.stream(verify, fixture.verifyRequest(0));
      expect(again.messages).toEqual(judged.messages);
    });
  }
});

group("what of a definition cannot be is told at the start", () => {
  const definitions: Readonly<Record<string, Partial<EnvironmentDefinition<null, object>>>> = {
    "agents: expected at least one": { agents: [] },
    "agents: .* is no id": { agents: ["a b"] },
    "agents: .* has an id twice": { agents: ["a", "a"] },
    "reward: expected finite": { reward: { timing: "terminal", minimum: 1, maximum: 0 } },
    "reward.components": {
      reward: { timing: "terminal", minimum: 0, maximum: 1, components: ["x", "x"] },
    },
    "tools.t.agents": {
      tools: { t: { description: "", input: { type: "object" }, agents: ["b"], run: () => "" } },
    },
  };
  for (const [problem, change] of Object.entries(definitions)) {
    it(problem, async () => {
      await expect(fixture.serveWorld({ ...world({}), ...change })).rejects.toThrow(new RegExp(problem));
    });
  }
});
