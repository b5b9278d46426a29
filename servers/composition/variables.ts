const reference = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

/**
 * Replaces `${VAR}` in every text of a configuration. A variable that is unset or empty is a problem that names it;
 * nothing else is ever taken in its place (field-case-113).
 */
export function substitute(
  value: unknown,
  environment: NodeJS.ProcessEnv,
  problems: string[],
  path = "",
): unknown {
  if (typeof value === "string") {
    return value.replace(reference, (whole, name: string) => {
      const found = environment[name];
      if (found !== undefined && found !== "") return found;
      problems.push(`${path}: the environment variable ${name} is ${found === "" ? "empty" : "not set"}`);
      return whole;
    });
  }
  if (Array.isArray(value)) {
    return value.map((entry, i) => substitute(entry, environment, problems, `${path}[${i}]`));
  }
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([key, entry]) => [
        key,
        substitute(entry, environment, problems, path === "" ? key : `${path}.${key}`),
      ]),
    );
  }
  return value;
}

const secretKey = /(key|token|secret|password|credential|authorization)s?$/i;

/** A configuration as it may be shown: secrets that were written into it are left out (field-case-130). */
export function withoutSecrets(value: unknown, key = ""): unknown {
  if (typeof value === "string") {
    if (secretKey.test(key) && !/^\$\{\w+\}$/.test(value)) return "[redacted]";
    return value.replace(/\/\/[^/@\s]+@/g, "//[redacted]@");
  }
  if (Array.isArray(value)) return value.map((entry) => withoutSecrets(entry, key));
  if (typeof value === "object" && value !== null) {
    const inner = key === "headers" ? "key" : undefined;
    return Object.fromEntries(
      Object.entries(value).map(([name, entry]) => [name, withoutSecrets(entry, inner ?? name)]),
    );
  }
  return value;
}
