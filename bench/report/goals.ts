import type { Ratios } from "./ratios.js";

/** The figures that goals are set for. */
export interface Headline {
  readonly ratios: Ratios;
  readonly episodesPerSecond: number | null;
  readonly sessionsOpenedPerSecond: number | null;
  readonly idleSessionsMegabytes: number | null;
}

/** A goal, and how far it is met. */
export interface Goal {
  readonly name: string;
  readonly unit: "times" | "a second" | "MB";
  /** `atLeast`: more is better; `atMost`: less is. */
  readonly bound: "atLeast" | "atMost";
  readonly goal: number;
  /** What is hoped for beyond the goal. */
  readonly aim?: number;
  /** Null where not measured. */
  readonly value: number | null;
  readonly met: boolean | null;
  /** By how many percent the value is better than the goal; below 0: it is missed by so much. */
  readonly marginPercent: number | null;
}

type Wanted = Omit<Goal, "value" | "met" | "marginPercent"> & {
  readonly of: (headline: Headline) => number | null;
};

const times = (name: string, goal: number, of: (ratios: Ratios) => number | null, aim?: number): Wanted => ({
  name,
  unit: "times",
  bound: "atLeast",
  goal,
  ...(aim === undefined ? {} : { aim }),
  of: ({ ratios }) => of(ratios),
});

const wanted: readonly Wanted[] = [
  times("StepStream @64 / grpc-js bidi echo", 1, (ratios) => ratios.stepStream64ToGrpcJsBidi, 1.5),
  times("StepStream @64 / WebSocket JSON echo", 1, (ratios) => ratios.stepStream64ToWebSocketJson),
  times("StepStream @64 / OpenEnv", 6, (ratios) => ratios.stepStream64ToOpenEnv, 10),
  times("Step @64 / grpc-js unary echo", 1, (ratios) => ratios.stepToGrpcJsUnary),
  {
    name: "whole episodes in one process",
    unit: "a second",
    bound: "atLeast",
    goal: 1000,
    of: ({ episodesPerSecond }) => episodesPerSecond,
  },
  {
    name: "sessions opened",
    unit: "a second",
    bound: "atLeast",
    goal: 3000,
    of: ({ sessionsOpenedPerSecond }) => sessionsOpenedPerSecond,
  },
  {
    name: "10,000 idle sessions",
    unit: "MB",
    bound: "atMost",
    goal: 150,
    of: ({ idleSessionsMegabytes }) => idleSessionsMegabytes,
  },
];

/** All goals beside what was measured. */
export function goalsOf(headline: Headline): readonly Goal[] {
  return wanted.map(({ of, ...goal }) => {
    const value = of(headline);
    if (value === null) return { ...goal, value, met: null, marginPercent: null };
    const share = goal.bound === "atLeast" ? value / goal.goal - 1 : 1 - value / goal.goal;
    const met = goal.bound === "atLeast" ? value >= goal.goal : value <= goal.goal;
    return { ...goal, value, met, marginPercent: Math.round(share * 100) };
  });
}
