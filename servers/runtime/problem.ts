/** Something wrong with a configuration or another input, and where. */
export interface Problem {
  /** Keys and indexes from the file's root. */
  readonly path: readonly PropertyKey[];
  /** What was expected, what was found, what to do. */
  readonly text: string;
}

/** A path as people write it: `servers.maths.options[0]`. */
export function pathText(path: readonly PropertyKey[]): string {
  return path.reduce<string>(
    (text, part) =>
      typeof part === "number" ? `${text}[${part}]` : text === "" ? String(part) : `${text}.${String(part)}`,
    "",
  );
}

/** A problem as one line. */
export function problemText({ path, text }: Problem): string {
  return path.length === 0 ? text : `${pathText(path)}: ${text}`;
}
