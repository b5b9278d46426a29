import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, extname, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { thrownText } from "./thrown-text.js";

/** Why a module cannot be loaded, on one line; where its text is wrong, with file, line and what is wrong there. */
export async function moduleFault(error: unknown, file: string, folder: string): Promise<string> {
  if (error instanceof Error && "code" in error && error.code === "ERR_REQUIRE_CYCLE_MODULE") return noModule;
  const shown = (path: string): string => {
    const beside = relative(folder, path);
    return beside.startsWith("..") ? path : `./${beside}`;
  };
  const found = transformFault(error) ?? (await syntaxFault(error, file));
  if (found === undefined) return thrownText(error);
  // TypeScript is transformed before Node reads it, unless its folder says that it is of the older kind of module.
  if (found.byNode === true && found.file.endsWith(".ts")) return noModule;
  return `${shown(found.file)}:${found.line}: ${found.text}`;
}

const noModule =
  'its folder\'s package.json does not say that it is an ECMAScript module; add "type": "module" there, or name it .mts';

interface Found {
  /** Node could not read the text itself; absent: it is another fault. */
  readonly byNode?: boolean;
  readonly file: string;
  readonly line: string;
  readonly text: string;
}

/** The first fault that the transformer of TypeScript tells, behind its headline. */
function transformFault(error: unknown): Found | undefined {
  if (!(error instanceof Error) || error.name !== "TransformError") return undefined;
  const [, file, line, text] = /^(.+):(\d+):\d+: ERROR: (.+)$/m.exec(error.message) ?? [];
  if (file === undefined || line === undefined || text === undefined) return undefined;
  // It tells of .mts and .cts as of .ts.
  const told = [file, file.replace(/\.ts$/, ".mts"), file.replace(/\.ts$/, ".cts")];
  return { file: told.find(existsSync) ?? file, line, text };
}

/** A fault of JavaScript's syntax or of its imports. */
async function syntaxFault(error: unknown, file: string): Promise<Found | undefined> {
  if (!(error instanceof SyntaxError)) return undefined;
  // Where an import has no such export, the stack begins with the place.
  const told = placeIn(error.stack ?? "");
  const place = told ?? (isLinked(error) ? await brokenPlace(file, new Set()) : undefined);
  if (place === undefined) return undefined;
  const text = thrownText(error);
  return { ...place, text, byNode: !text.includes("does not provide an export") };
}

type Place = Pick<Found, "file" | "line">;

function placeIn(text: string): Place | undefined {
  const [, path, line] =
    /^(file:\/\/\S+|\/.+|[A-Za-z]:\\.+):(\d+)$/m.exec(text.split("\n", 1)[0] ?? "") ?? [];
  if (path === undefined || line === undefined) return undefined;
  return { file: path.startsWith("file:") ? fileURLToPath(path) : path, line };
}

/** Whether Node itself found it while it linked modules, not code that ran. */
function isLinked(error: SyntaxError): boolean {
  return /^\s+at [^\n]*\(node:internal/m.test(error.stack?.split("\n")[1] ?? "");
}

const run = promisify(execFile);
/** Milliseconds for a look at one file. */
const checkMs = 10_000;
const relativeImport = /\b(?:from|import)\s*["'](\.[^"']+)["']/g;

/** Where the text of a module, or of one that it imports, is no JavaScript: Node tells it only when it checks a file. */
async function brokenPlace(file: string, seen: Set<string>): Promise<Place | undefined> {
  if (seen.has(file) || !/^\.[mc]?js$/.test(extname(file))) return undefined;
  seen.add(file);
  try {
    await run(process.execPath, ["--check", file], { timeout: checkMs, env: {} });
  } catch (error) {
    const said = typeof error === "object" && error !== null && "stderr" in error ? String(error.stderr) : "";
    return placeIn(said);
  }
  const text = await readFile(file, "utf8").catch(() => "");
  for (const [, path = ""] of text.matchAll(relativeImport)) {
    const place = await brokenPlace(resolve(dirname(file), path), seen);
    if (place !== undefined) return place;
  }
  return undefined;
}
