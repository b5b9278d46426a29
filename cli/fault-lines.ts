import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { thrownText } from "../servers/composition/thrown-text.js";
import { OperationFailure } from "../servers/runtime/failure.js";
import type { LoggedFault } from "../servers/runtime/log.js";

/** Tells people what broke in the servers of this process: a line for each distinct fault, and at the end how often. */
export interface FaultLines extends Disposable {
  readonly tell: (fault: LoggedFault) => void;
}

/** Distinct faults that are told; what is more is counted. */
const maxLines = 50;
/** Characters of what an error says that are told. */
const maxWords = 500;
/** Causes of an error that are looked at. */
const maxCauses = 8;

/** Lines of faults, by `write`, each when it first comes. */
export function faultLines(write: (line: string) => void): FaultLines {
  const counts = new Map<string, number>();
  let untold = 0;
  return {
    tell({ server, what, session, verification, rpc, err }) {
      const chain = chainOf(err);
      // A failure that another server told is that server's, which tells what broke.
      if (chain.length > 0 && chain.every(isFailure)) return;
      const words =
        [...new Set(chain.map(thrownText))].filter(Boolean).join(": ") || "an error without words";
      const told =
        words.length > maxWords ? `${words.slice(0, maxWords)}... (${words.length} characters)` : words;
      const fault = `${text(server) || "a server"}: ${text(what) || text(rpc) || "work"} broke: ${told}${placeOf(chain)}`;
      const count = counts.get(fault);
      if (count === undefined && counts.size >= maxLines) untold += 1;
      else counts.set(fault, (count ?? 0) + 1);
      if (count !== undefined || !counts.has(fault)) return;
      const where = text(session) || text(verification);
      write(where === "" ? fault : `${fault} (first in ${where})`);
    },
    [Symbol.dispose]() {
      for (const [fault, count] of counts) if (count > 1) write(`${count} times: ${fault}`);
      if (untold > 0) write(`${untold} more faults; --log warn writes each, with its stack`);
    },
  };
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** An error and what is behind it. It may be anything. */
function chainOf(error: unknown): unknown[] {
  const chain: unknown[] = [];
  try {
    for (let at = error; at !== undefined && chain.length < maxCauses; ) {
      chain.push(at);
      at = at instanceof Error ? at.cause : undefined;
    }
  } catch {
    // What cannot be asked has no causes that could be told.
  }
  return chain;
}

function isFailure(error: unknown): boolean {
  try {
    return error instanceof OperationFailure;
  } catch {
    return false;
  }
}

/** Where our own code lies. What an author wrote may lie beside it, as our worlds do. */
const root = fileURLToPath(new URL("..", import.meta.url));
const ours = /^(?:clients|gen|cli|rollouts|servers)\//;
const written = /^servers\/(?:environment\/worlds|agent\/harnesses|model\/models|episode\/drivers)\//;
const frame = /(?:\(|at (?:async )?)((?:file:\/\/|\/|[A-Za-z]:[\\/])[^()\n]*?):(\d+):\d+\)?$/gm;

/** ` at ./world.ts:12`: the nearest frame of an author's code, innermost error first; empty where there is none. */
function placeOf(chain: readonly unknown[]): string {
  for (const error of chain.toReversed()) {
    for (const [, at = "", line] of stackOf(error).matchAll(frame)) {
      const path = pathOf(at);
      if (path === undefined) continue;
      const own = relative(root, path).replaceAll("\\", "/");
      if (path.includes("/node_modules/") || (ours.test(own) && !written.test(own))) continue;
      const here = relative(process.cwd(), path);
      return ` at ${here.startsWith("..") ? path : `./${here}`}:${line}`;
    }
  }
  return "";
}

/** The file that a frame names; undefined: it names none of this machine, as a text that an author made may. */
function pathOf(at: string): string | undefined {
  if (!at.startsWith("file:")) return at;
  try {
    return fileURLToPath(at.replace(/[?#].*$/, ""));
  } catch {
    return undefined;
  }
}

function stackOf(error: unknown): string {
  try {
    return error instanceof Error ? String(error.stack) : "";
  } catch {
    return "";
  }
}
