import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { EnvironmentService, type StepStreamResponse } from "../../../gen/index.js";
import { BareClient } from "../../../test/bare-client.js";
import * as fixture from "../../../test/rules/fixture.js";
import { createRuntime } from "../../runtime/runtime.js";
import { serve } from "../../runtime/serve.js";
import { defineEnvironment } from "../define-environment.js";
import type { StepInput, StepResult } from "../definition/stepping.js";
import { environmentService } from "../environment-service.js";

const { seed, step, close } = fixture;

type Step = (input: StepInput<object>) => StepResult | Promise<StepResult>;

const world = (takeStep: Step) =>
  defineEnvironment<null, object>({
    name: "gated",
    version: "1.0.0",
    reward: { timing: "terminal", minimum: 0, maximum: 1, components: ["known"] },
    determinism: "seeded",
    read: () => null,
    seed: () => ({ state: {} }),
    step: takeStep,
    verify: () => ({ reward: 1 }),
  });

/** What `await` takes and is no Promise. */
const thenable = (result: StepResult): Promise<StepResult> =>
  // biome-ignore lint/suspicious/noThenProperty: this is what is tested
  ({ then: (resolve: (given: StepResult) => void) => resolve(result) }) as Promise<StepResult>;

const frame = (index: number) => ({
  frame: BigInt(index + 1),
  operations: [{ operation: { case: "step" as const, value: fixture.stepRequest(index) } }],
});

describe("steps", () => {
  it("are answered in order whether each is taken at once, later, or by a promise of the author's own", async () => {
    const kinds: Step[] = [
      ({ stepIndex }) => ({ info: { stepIndex } }),
      async ({ stepIndex }) => {
        await new Promise(setImmediate);
        return { info: { stepIndex } };
      },
      ({ stepIndex }) => thenable({ info: { stepIndex } }),
    ];
    await using f = await fixture.serveWorld(
      world((input) => kinds[input.stepIndex % kinds.length]?.(input) ?? {}),
    );
    await f.client.unary(seed, fixture.seedRequest());
    const stream = f.client.duplex(EnvironmentService.method.stepStream);
    for (let i = 0; i < 30; i += 1) stream.write(frame(i));
    for (let i = 0; i < 30; i += 1) {
      const response = (await stream.read()) as StepStreamResponse;
      expect(response.frame).toBe(BigInt(i + 1));
      expect(response.answers[0]?.answer.value).toMatchObject({
        stepIndex: i,
        outcomes: [{ infoJson: JSON.stringify({ stepIndex: i }) }],
      });
    }
    stream.end();
    expect(await stream.read()).toBeUndefined();
    expect((await f.client.unary(step, fixture.stepRequest(0))).delivery).toBe("replayed");
  });

  it("tell the signal of their own run, asked for before or behind its end", async () => {
    const inputs: StepInput<object>[] = [];
    let begun: () => void = () => {};
    const running = new Promise<void>((resolve) => {
      begun = resolve;
    });
    await using f = await fixture.serveWorld(
      world((input) => {
        inputs.push(input);
        if (input.stepIndex === 0) return {};
        begun();
        return new Promise((_, reject) => {
          input.signal.addEventListener("abort", () => reject(input.signal.reason));
        });
      }),
    );
    await f.client.unary(seed, fixture.seedRequest());
    await f.client.unary(step, fixture.stepRequest(0));
    const cancelled = f.client.unary(step, fixture.stepRequest(1));
    await running;
    await f.client.unary(close, fixture.closeRequest());
    expect((await cancelled).error?.reason).toBe("OPERATION_FAILED");
    expect(inputs.map(({ signal }) => signal.aborted)).toEqual([false, true]);
  });

  it("that give nothing, or something hostile, at once fail for good", async () => {
    const hostile = new Proxy(
      {},
      {
        get() {
          throw new Error("no");
        },
      },
    );
    for (const given of [null, hostile]) {
      await using f = await fixture.serveWorld(world(() => given as StepResult));
      await f.client.unary(seed, fixture.seedRequest());
      expect((await f.client.unary(step, fixture.stepRequest(0))).error?.reason).toBe("OPERATION_FAILED");
      expect((await f.client.unary(step, fixture.stepRequest(1))).error?.reason).toBe("SESSION_FAILED");
      expect((await f.client.unary(close, fixture.closeRequest())).message?.receipt).toMatchObject({
        cleanupConfirmed: true,
      });
    }
  });

  it("name the tool that broke in the log, and to the log only", async () => {
    const lines: string[] = [];
    const runtime = createRuntime({ log: pino({}, { write: (line) => void lines.push(line) }) });
    const definition = defineEnvironment({
      ...world(() => ({})),
      tools: {
        look: {
          description: "Looks.",
          input: z.object({}),
          run(): string {
            throw new TypeError("nothing to see");
          },
        },
      },
    });
    await using server = await serve({ runtime, services: [environmentService(definition, runtime)] });
    const client = new BareClient(server.url);
    await client.unary(seed, fixture.seedRequest());
    const { error } = await client.unary(step, fixture.stepOf(0, [fixture.call("look", {})]));
    client.close();
    expect(error?.failure?.reason).toBe("an unexpected error; the server's log has it");
    expect(lines.join("")).toContain('tool \\"look\\" broke: nothing to see');
  });
});
