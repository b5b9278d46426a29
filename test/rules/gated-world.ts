import { z } from "zod";
import { FailureKind, Retry } from "../../gen/index.js";
import { defineEnvironment } from "../../servers/environment/define-environment.js";
import { ToolError } from "../../servers/environment/definition/tool.js";
import { OperationFailure } from "../../servers/runtime/failure.js";

/** A point at which work waits until the test lets it go on. */
export class Gate {
  #open = true;
  #waiting: (() => void)[] = [];
  #arrivals: (() => void)[] = [];
  #arrived = 0;

  /** From now on work stops here. */
  shut(): void {
    this.#open = false;
  }

  /** Lets everything go on that waits, and what comes later. */
  open(): void {
    this.#open = true;
    for (const go of this.#waiting) go();
    this.#waiting = [];
  }

  /** Resolves when work has come here `count` times in all. */
  async arrived(count: number): Promise<void> {
    while (this.#arrived < count) await new Promise<void>((resolve) => this.#arrivals.push(resolve));
  }

  /** Called by the work. */
  async pass(signal?: AbortSignal): Promise<void> {
    this.#arrived += 1;
    for (const tell of this.#arrivals) tell();
    this.#arrivals = [];
    if (this.#open) return;
    await new Promise<void>((resolve, reject) => {
      this.#waiting.push(resolve);
      signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
  }
}

/** What a test may do to the world, and what it counts. */
export class Controls {
  readonly seed = new Gate();
  readonly step = new Gate();
  readonly verify = new Gate();
  readonly release = new Gate();
  /** Whether gated work ends when it is told to. */
  obedient = true;
  /** Throws this once, at the next of its kind. */
  failNext: { readonly at: "seed" | "step" | "verify" | "release"; readonly error: unknown } | undefined;
  /** What the next steps show; absent: the count. */
  observation: string | undefined;
  /** Reward that the next verifications give. */
  reward = 1;
  readonly counts = { seed: 0, step: 0, verify: 0, release: 0 };

  async pass(at: "seed" | "step" | "verify" | "release", signal?: AbortSignal): Promise<void> {
    this.counts[at] += 1;
    const { failNext } = this;
    if (failNext?.at === at) {
      this.failNext = undefined;
      throw failNext.error;
    }
    await this[at].pass(this.obedient ? signal : undefined);
  }
}

/** A recorded failure of the world that leaves the session going. */
export const nextIndexFailure = (): OperationFailure =>
  new OperationFailure({
    kind: FailureKind.JUDGE_RATE_LIMITED,
    retry: Retry.NEXT_INDEX,
    reason: "busy judge",
  });

/** A counter whose every function waits at a gate of the test's. */
export function gatedWorld(controls: Controls) {
  return defineEnvironment({
    name: "gated",
    version: "1.0.0",
    reward: { timing: "terminal", minimum: 0, maximum: 1, components: ["exact"] },
    determinism: "seeded",
    privilegedSchema: z.object({ canary: z.string() }),
    toolsRequired: false,
    read: (source) => source.privilegedJson(z.object({ canary: z.string() })),
    async seed({ signal }) {
      await controls.pass("seed", signal);
      return { state: { count: 0 }, input: "count" };
    },
    stepKinds: ["items"],
    async step({ state, signal }) {
      await controls.pass("step", signal);
      state.count += 1;
      return { observation: controls.observation ?? String(state.count) };
    },
    tools: {
      fail: {
        description: "Fails.",
        input: z.object({ how: z.enum(["told", "crash"]) }),
        run({ how }) {
          if (how === "told") throw new ToolError("the tool could not");
          throw new Error("/secret/path exploded");
        },
      },
    },
    async verify({ state, answer, signal }) {
      await controls.pass("verify", signal);
      return { reward: controls.reward, diagnostics: { count: state.count, answer } };
    },
    async close() {
      await controls.pass("release");
    },
  });
}
