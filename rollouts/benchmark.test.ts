import { expect, it } from "vitest";
import { ConfigError } from "../servers/composition/config-error.js";
import { type Problem, problemText } from "../servers/runtime/problem.js";
import { type Benchmark, checkDigest, checkEnvironment } from "./benchmark.js";

const benchmark = {
  name: "maths",
  environment: "reasoning",
  tasks: { split: "test", digest: `sha256:${"0".repeat(64)}` },
} as Benchmark;

it("refuses other tasks than those that it pins", () => {
  checkDigest(benchmark, `sha256:${"0".repeat(64)}`, "t.jsonl");
  expect(() => checkDigest(benchmark, "sha256:1", "t.jsonl")).toThrow(
    /^t\.jsonl: expected the tasks that benchmark maths pins \(sha256:0+\), found sha256:1; give that file/,
  );
});

it("refuses another environment than the one that its tasks are for", () => {
  const at = (name: string) => ({ name, server: "m" });
  const refuse = (problems: readonly Problem[]) => new ConfigError(problems.map(problemText));
  checkEnvironment(benchmark, at("reasoning"), { refuse });
  expect(() => checkEnvironment(benchmark, at("robots"), { refuse })).toThrow(
    'run.environment: benchmark maths is over environment "reasoning", found "robots" at m; name a server of that environment',
  );
});
