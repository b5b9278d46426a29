import { create } from "@bufbuild/protobuf";
import {
  EpisodeContextSchema,
  FailureKind,
  Feature,
  Retry,
  type ScoredEpisode,
  ScoredEpisodeSchema,
  Stage,
} from "../../../gen/index.js";
import { type EnvironmentTrial, environmentCheck } from "./environment-trial.js";

const check = (
  init: Omit<Parameters<typeof environmentCheck>[0], "features">,
  run: (t: EnvironmentTrial) => Promise<void>,
) => environmentCheck({ features: [Feature.METRICS], ...init }, run);

/** How an episode was scored: a reward, masked or not, none, or a failure. */
type Score = number | { readonly masked: number } | "unscored" | "failure";

function episodes(t: EnvironmentTrial, scores: readonly Score[]): ScoredEpisode[] {
  const taskId = t.fixture.sample.task?.taskId;
  return scores.map((score) =>
    create(ScoredEpisodeSchema, {
      context: create(EpisodeContextSchema, { episodeId: { rolloutId: t.id("scored") } }),
      ...(taskId === undefined ? {} : { taskId }),
      outcome: outcomeOf(score),
    }),
  );
}

type Outcome = NonNullable<Parameters<typeof create<typeof ScoredEpisodeSchema>>[1]>["outcome"];

function outcomeOf(score: Score): NonNullable<Outcome> {
  if (score === "failure") {
    return {
      case: "failure",
      value: { kind: FailureKind.TIMEOUT, retry: Retry.NEVER, stage: Stage.VERIFY, reason: "for the suite" },
    };
  }
  if (score === "unscored") return { case: "verdict", value: {} };
  return typeof score === "number"
    ? { case: "verdict", value: { reward: { value: score } } }
    : { case: "verdict", value: { reward: { value: score.masked }, masked: { reason: "for_the_suite" } } };
}

/** Aggregates, several episodes a message. */
async function aggregate(t: EnvironmentTrial, scored: readonly ScoredEpisode[]) {
  async function* requests() {
    for (let at = 0; at < scored.length; at += 3) yield { episodes: scored.slice(at, at + 3) };
  }
  const answer = t.judge.answer("AggregateMetrics", await t.calls.aggregateMetrics(requests()));
  const { scored: averaged, masked, unscored, failed } = answer;
  t.judge.each("the counts", Object.entries({ averaged, masked, unscored, failed }), ([name, count]) =>
    t.judge.that(name, count >= 0n, { expected: "a count", actual: count }),
  );
  for (const { name, value } of answer.metrics) {
    t.judge.that(`metric ${name}`, Number.isFinite(value), { expected: "finite", actual: value });
  }
  return answer;
}

/** The mean of rewards; the contract names no metric, but one of them is it wherever rewards are unlike. */
const meansIn = <M extends { readonly name: string }>(metrics: readonly M[]): M[] =>
  metrics.filter(({ name }) => /mean|average|avg/i.test(name));

/** Judges that whatever mean of rewards is told is `mean`; a subject that tells none has its counts judged alone. */
function judgeMeans(
  t: EnvironmentTrial,
  metrics: readonly { readonly name: string; readonly value: number }[],
  mean: number,
): void {
  for (const { name, value } of meansIn(metrics).filter((one) => /reward/i.test(one.name))) {
    t.judge.that(`metric ${name}`, Math.abs(value - mean) < 1e-9, { expected: String(mean), actual: value });
  }
}

/** AggregateMetrics: what is counted and what is averaged. */
export const metricsChecks = [
  check(
    {
      clause: "ENV-METR-001",
      name: "failures-apart",
      title: "six rewards of 1, two of 0 and two failures: a mean of 0.75 over 8, and 2 failed.",
      stacks: ["connect-node", "grpc-js"],
    },
    async (t) => {
      const { metrics, scored, failed } = await aggregate(
        t,
        episodes(t, [1, 1, 1, 1, 1, 1, 0, 0, "failure", "failure"]),
      );
      t.judge.equal("scored", scored, 8n);
      t.judge.equal("failed", failed, 2n);
      judgeMeans(t, metrics, 0.75);
      for (const { name, count } of meansIn(metrics)) {
        t.judge.that(`the count of ${name}`, count <= 8n, { expected: "8 at most", actual: count });
      }
    },
  ),
  check(
    {
      clause: "ENV-METR-002",
      name: "any-order",
      title: "the same episodes in three orders have the same metrics.",
    },
    async (t) => {
      const all = episodes(t, [0.1, 0.7, 0.2, "failure", 0.3, { masked: 1 }, "unscored", 0.9, 0.4]);
      const first = await aggregate(t, all);
      const rotated = await aggregate(t, [...all.slice(4), ...all.slice(0, 4)]);
      const backwards = await aggregate(t, [...all].reverse());
      for (const [how, other] of Object.entries({ rotated, backwards })) {
        t.judge.equal(`the counts, ${how}`, countsOf(other), countsOf(first));
        t.judge.equal(`the names, ${how}`, namesOf(other), namesOf(first));
        for (const { name, value } of other.metrics) {
          const was = first.metrics.find((one) => one.name === name)?.value ?? Number.NaN;
          // The order of a sum of doubles shows in their last bits.
          const near = Math.abs(value - was) <= 1e-9 * Math.max(1, Math.abs(was));
          t.judge.that(`metric ${name}, ${how}`, near, { expected: String(was), actual: value });
        }
      }
    },
  ),
  check(
    {
      clause: "ENV-METR-003",
      name: "nothing-scored",
      title: "of failures alone, and of nothing at all, there is no mean; of one reward there is.",
    },
    async (t) => {
      for (const [what, scores] of Object.entries({
        failures: ["failure", "failure"],
        nothing: [],
      } as const)) {
        const { metrics, scored } = await aggregate(t, episodes(t, [...scores]));
        t.judge.equal(`scored of ${what}`, scored, 0n);
        t.judge.equal(`means of ${what}`, meansIn(metrics), []);
      }
      const { metrics, scored } = await aggregate(t, episodes(t, [0.5]));
      t.judge.equal("scored of one reward", scored, 1n);
      judgeMeans(t, metrics, 0.5);
    },
  ),
  check(
    {
      clause: "ENV-METR-004",
      name: "masked-apart",
      title: "a masked verdict is counted as masked and changes no mean.",
    },
    async (t) => {
      const { metrics, scored, masked } = await aggregate(t, episodes(t, [0, 0.5, { masked: 1 }]));
      t.judge.equal("scored", scored, 2n);
      t.judge.equal("masked", masked, 1n);
      judgeMeans(t, metrics, 0.25);
    },
  ),
  check(
    {
      clause: "ENV-METR-005",
      name: "unscored-apart",
      title: "a verdict without reward is counted as unscored and changes no mean.",
    },
    async (t) => {
      const { metrics, scored, unscored } = await aggregate(t, episodes(t, [1, 0.5, "unscored"]));
      t.judge.equal("scored", scored, 2n);
      t.judge.equal("unscored", unscored, 1n);
      judgeMeans(t, metrics, 0.75);
    },
  ),
];

type Aggregated = Awaited<ReturnType<typeof aggregate>>;

const countsOf = ({ scored, masked, unscored, failed }: Aggregated): unknown => [
  scored,
  masked,
  unscored,
  failed,
];

const namesOf = ({ metrics }: Aggregated): string[] => metrics.map(({ name }) => name).sort();
