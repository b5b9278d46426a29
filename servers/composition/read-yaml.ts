import { readFile } from "node:fs/promises";
import { type Document, isMap, isNode, isScalar, isSeq, LineCounter, parseDocument } from "yaml";
import { type Problem, problemText } from "../runtime/problem.js";
import { ConfigError } from "./config-error.js";

/** A YAML file that was read. */
export interface YamlFile {
  /** What it says. */
  readonly value: unknown;
  /** A ConfigError that tells problems with the file's name and their lines. */
  refuse(problems: readonly Problem[]): ConfigError;
}

/** Reads a YAML file. Throws ConfigError where it cannot be read or is no YAML. */
export async function readYaml(file: string): Promise<YamlFile> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    throw new ConfigError([`${file}: cannot be read (${codeOf(error)}); give the path of a YAML file`]);
  }
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  if (document.errors.length > 0) {
    throw new ConfigError(
      document.errors.map(({ pos, message }) => `${file}:${lines.linePos(pos[0]).line}: ${oneLine(message)}`),
    );
  }
  return {
    value: plainValues(document, file),
    refuse: (problems) =>
      new ConfigError(
        problems.map((problem) => {
          const offset = offsetOf(document, problem.path);
          const line = offset === undefined ? "" : `:${lines.linePos(offset).line}`;
          return `${file}${line}: ${problemText(problem)}`;
        }),
      ),
  };
}

/** The file as plain values; anchors that multiply without bound or refer to themselves are refused. */
function plainValues(document: Document, file: string): unknown {
  try {
    const value: unknown = document.toJS();
    JSON.stringify(value);
    return value;
  } catch {
    throw new ConfigError([`${file}: an anchor refers to itself or is used too often; write the values out`]);
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : String(error);
}

/** The parser's message without the excerpt of the file that it ends with: the file may hold secrets. */
function oneLine(message: string): string {
  return (message.split("\n")[0] ?? "").replace(/ at line \d+, column \d+:?$/, "");
}

/** Where the deepest part of a path stands that the file has. */
function offsetOf(document: Document, path: readonly PropertyKey[]): number | undefined {
  let at: unknown = document.contents;
  let offset: number | undefined;
  for (const part of path) {
    if (isMap(at)) {
      const pair = at.items.find(({ key }) => isScalar(key) && String(key.value) === String(part));
      if (pair === undefined) break;
      if (isNode(pair.key)) offset = pair.key.range?.[0] ?? offset;
      at = pair.value;
    } else if (isSeq(at) && typeof part === "number") {
      at = at.items[part];
      if (isNode(at)) offset = at.range?.[0] ?? offset;
    } else break;
  }
  return offset;
}
