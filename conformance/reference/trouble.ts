import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { FailureKind, Retry } from "../../gen/index.js";
import { OperationFailure } from "../../servers/index.js";

/** What an operation can be asked to do besides its work: docs/reference-world.md, "Troubles". */
export const troubleSchema = z.discriminatedUnion("do", [
  z.strictObject({ do: z.literal("wait"), ms: z.int().min(0).max(600_000) }),
  z.strictObject({ do: z.literal("hang"), stubborn: z.boolean().default(false) }),
  z.strictObject({ do: z.literal("crash"), text: z.string().min(1) }),
  z.strictObject({ do: z.literal("fail"), retry: z.enum(["NEVER", "NEXT_INDEX", "NEW_ATTEMPT"]) }),
  z.strictObject({ do: z.literal("limited") }),
  z.strictObject({ do: z.literal("reward"), value: z.union([z.number(), z.enum(["nan", "inf", "-inf"])]) }),
  z.strictObject({ do: z.literal("mask") }),
  z.strictObject({ do: z.literal("big"), bytes: z.int().min(1).max(16_000_000) }),
]);

/** One trouble. */
export type Trouble = z.output<typeof troubleSchema>;

/** What a trouble changes of the answer. */
export interface Disturbance {
  /** The reward instead of the earned one. */
  readonly reward?: number;
  readonly masked?: boolean;
  /** Text of the observation, or of the diagnostics. */
  readonly text?: string;
}

/** What a session remembers of its troubles. */
export interface TroubleMemory {
  /** The judge's limit was told once already. */
  limited: boolean;
}

const numbers = { nan: Number.NaN, inf: Number.POSITIVE_INFINITY, "-inf": Number.NEGATIVE_INFINITY };

/** Does it. Throws what it is to throw. */
export async function makeTrouble(
  trouble: Trouble,
  { memory, signal }: { memory: TroubleMemory; signal: AbortSignal },
): Promise<Disturbance> {
  switch (trouble.do) {
    case "wait":
      await delay(trouble.ms, undefined, { signal });
      return {};
    case "hang":
      await new Promise<never>((_resolve, reject) => {
        if (!trouble.stubborn) signal.addEventListener("abort", () => reject(signal.reason as Error));
      });
      return {};
    case "crash":
      throw new Error(trouble.text);
    case "fail":
      throw new OperationFailure({
        kind: FailureKind.CUSTOM,
        customKind: "reference:asked",
        retry: Retry[trouble.retry],
        reason: "it was asked to fail",
      });
    case "limited":
      if (memory.limited) return {};
      memory.limited = true;
      throw new OperationFailure({
        kind: FailureKind.JUDGE_RATE_LIMITED,
        retry: Retry.NEXT_INDEX,
        reason: "the judge takes no more for now",
      });
    case "reward":
      return { reward: typeof trouble.value === "number" ? trouble.value : numbers[trouble.value] };
    case "mask":
      return { masked: true };
    case "big":
      return { text: "x".repeat(trouble.bytes) };
  }
}
