import { expect, it } from "vitest";
import { type Problem, problemText } from "../runtime/problem.js";
import { substitute } from "./substitute.js";

function read(value: unknown, environment: NodeJS.ProcessEnv) {
  const problems: Problem[] = [];
  return { value: substitute(value, environment, problems), problems: problems.map(problemText) };
}

it("reads variables wherever there is text", () => {
  expect(
    read({ a: [`\${X}`, 1], b: { c: `http://\${HOST}:\${PORT}` } }, { X: "x", HOST: "h", PORT: "1" }),
  ).toEqual({
    value: { a: ["x", 1], b: { c: "http://h:1" } },
    problems: [],
  });
});

it("field-case-113: names a variable that is unset or empty, and takes nothing in its place", () => {
  const environment = { OPENAI_API_KEY: "another key", EMPTY: "" };
  const written = {
    servers: { policy: { options: [{ api_key: `\${MODEL_KEY}` }, { api_key: `\${EMPTY}` }] } },
  };
  expect(read(written, environment)).toEqual({
    value: written,
    problems: [
      "servers.policy.options[0].api_key: the environment variable MODEL_KEY is not set; give it a value",
      "servers.policy.options[1].api_key: the environment variable EMPTY is empty; give it a value",
    ],
  });
});

it("field-case-113: refuses a reference in another notation, which would pass as a text", () => {
  expect(read({ key: `\${env:MODEL_KEY}` }, { MODEL_KEY: "k" }).problems).toEqual([
    `key: expected \${NAME}, found "\${env:MODEL_KEY}"; write $\${...} for the text itself`,
  ]);
});

it("leaves an escaped reference as the text that it is", () => {
  expect(read(`echo $\${HOME} $5`, {})).toEqual({ value: `echo \${HOME} $5`, problems: [] });
});
