import type { Problem } from "../runtime/problem.js";

const reference = /\$(\$?)\{([^}]*)\}/g;
const variableName = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * Replaces `${VAR}` in every text of a configuration; `$${VAR}` stands for the text `${VAR}` itself. A variable that is
 * unset or empty is a problem that names it, and so is a reference in another notation: nothing else is ever taken in
 * its place (field-case-113).
 */
export function substitute(
  value: unknown,
  environment: NodeJS.ProcessEnv,
  problems: Problem[],
  path: readonly PropertyKey[] = [],
): unknown {
  if (typeof value === "string") {
    return value.replace(reference, (whole, escaped: string, name: string) => {
      if (escaped !== "") return whole.slice(1);
      if (!variableName.test(name)) {
        problems.push({
          path,
          text: `expected \${NAME}, found "${whole}"; write $\${...} for the text itself`,
        });
        return whole;
      }
      const found = Object.hasOwn(environment, name) ? environment[name] : undefined;
      if (found !== undefined && found !== "") return found;
      const state = found === "" ? "empty" : "not set";
      problems.push({ path, text: `the environment variable ${name} is ${state}; give it a value` });
      return whole;
    });
  }
  if (Array.isArray(value)) {
    return value.map((entry, i) => substitute(entry, environment, problems, [...path, i]));
  }
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([key, entry]) => [
        key,
        substitute(entry, environment, problems, [...path, key]),
      ]),
    );
  }
  return value;
}
