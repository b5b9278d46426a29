import {
  type EnvironmentServiceDescribeResponse,
  RewardTiming,
  type StepResponse,
  type Verdict,
  type VerifyResult,
} from "../../../gen/index.js";
import { type Watch, watch } from "../../check/watch.js";
import type { Seen } from "../../subject/seen.js";

/** Messages of a type anywhere in an answer. */
function all<T>(seen: Seen, typeName: string): T[] {
  return seen.kind === "answer" ? search<T>(seen.message, typeName) : [];
}

function search<T>(value: unknown, typeName: string): T[] {
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return [];
  const own = "$typeName" in value && value.$typeName === typeName ? [value as T] : [];
  return [...own, ...Object.values(value).flatMap((one) => search<T>(one, typeName))];
}

/** R8: rewards of every step and every verdict that a run brings to light. */
export function rewardWatches(described?: EnvironmentServiceDescribeResponse): Watch[] {
  const {
    timing,
    minimum = 0,
    maximum = 0,
    components = [],
    unscored,
  } = described?.declarations?.reward ?? {};
  const fits = (value: number): boolean => Number.isFinite(value) && value >= minimum && value <= maximum;
  const range = `finite, ${minimum} to ${maximum}`;
  return [
    watch(
      {
        clause: "ENV-STEP-003",
        name: "every-step",
        title: "A reward is there on each step for STEP, on none for TERMINAL.",
        notApplicable: timing === RewardTiming.HYBRID ? "the subject declares HYBRID" : undefined,
      },
      (seen, judge) => {
        for (const { outcomes, stepIndex } of all<StepResponse>(seen, "touchstone.v1.StepResponse")) {
          for (const { agentId, reward } of outcomes) {
            const there = reward !== undefined;
            judge.equal(`a reward for ${agentId} at step ${stepIndex}`, there, timing === RewardTiming.STEP);
          }
        }
      },
    ),
    watch(
      { clause: "ENV-STEP-004", name: "every-step", title: "Every step reward is finite and in the range." },
      (seen, judge) => {
        for (const { outcomes, stepIndex } of all<StepResponse>(seen, "touchstone.v1.StepResponse")) {
          for (const { agentId, reward } of outcomes) {
            if (reward === undefined) continue;
            judge.that(`the reward of ${agentId} at step ${stepIndex}`, fits(reward.value), {
              expected: range,
              actual: reward.value,
            });
          }
        }
      },
    ),
    watch(
      {
        clause: "ENV-VRFY-001",
        name: "every-verification",
        title: "Every verification ends with a verdict or a failure.",
      },
      (seen, judge) => {
        for (const { outcome } of all<VerifyResult>(seen, "touchstone.v1.VerifyResult")) {
          judge.that("the outcome of a verification", outcome.case !== undefined, {
            expected: "a verdict or a failure",
            actual: "neither",
          });
        }
      },
    ),
    watch(
      {
        clause: "ENV-VRFY-004",
        name: "every-verdict",
        title: "Reward and components of every verdict are finite, in range, and the declared ones.",
      },
      (seen, judge) => {
        for (const verdict of all<Verdict>(seen, "touchstone.v1.Verdict")) {
          const { reward } = verdict;
          judge.that(
            "the reward of a verdict",
            reward === undefined ? unscored === true || verdict.masked !== undefined : fits(reward.value),
            {
              expected: range,
              actual: reward?.value ?? "absent",
            },
          );
          for (const [name, value] of Object.entries(verdict.components)) {
            judge.that(`component ${name}`, components.includes(name) && Number.isFinite(value), {
              expected: `finite, and one of ${components.join(", ") || "none"}`,
              actual: value,
            });
          }
        }
      },
    ),
  ];
}
