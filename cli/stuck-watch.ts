import { url } from "node:inspector";
import { Worker } from "node:worker_threads";

/** Milliseconds that one piece of work may keep everything else waiting before it is told. */
const stuckMs = 10_000;

/**
 * Watches from a thread of its own whether this process still turns: a tool or a verifier that never returns stops every
 * session, timeout and health check of all servers here, and nothing on the main thread could say which it is. The thread
 * then asks the debugger of Node where the main thread is, and writes it to standard error. Nothing is measured per call.
 * That it cannot watch, or be heard, ends nothing: it is only lost.
 */
export function watchStuck(afterMs: number = stuckMs): Disposable {
  // Beats, and whether somebody debugs the process: only the main thread knows of its inspector.
  const shared = new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT));
  const tickMs = Math.min(1000, afterMs / 4);
  const worker = new Worker(watching, {
    eval: true,
    workerData: { shared, tickMs, ticks: Math.ceil(afterMs / tickMs) },
  });
  worker.on("error", () => {});
  worker.unref();
  const beat = (): void => {
    Atomics.store(shared, 1, url() === undefined ? 0 : 1);
    Atomics.add(shared, 0, 1);
  };
  beat();
  const timer = setInterval(beat, tickMs).unref();
  return {
    [Symbol.dispose]() {
      clearInterval(timer);
      void worker.terminate();
    },
  };
}

/** What the thread runs; a text, because it starts from plain JavaScript. It writes by itself: the main thread cannot. */
const watching = `
const { Session } = require("node:inspector");
const { writeSync } = require("node:fs");
const { SourceMap } = require("node:module");
const { relative } = require("node:path");
const { fileURLToPath } = require("node:url");
const { shared, tickMs, ticks } = require("node:worker_threads").workerData;
let seen, still = 0;
setInterval(() => {
  const now = Atomics.load(shared, 0);
  still = now === seen ? still + 1 : 0;
  seen = now;
  // Ticks, not time: a machine that slept is not stuck. Somebody who debugs the process stops it on purpose.
  if (still !== ticks || Atomics.load(shared, 1) === 1) return;
  try {
    locate();
  } catch {
    tell("code that cannot be asked where it is");
  }
}, tickMs);

function tell(where) {
  try {
    writeSync(
      2,
      "stuck: for " + (ticks * tickMs) / 1000 + " s nothing else of this process has run; it is in " + where +
        "; if it never returns, only \`kill -9 " + process.pid + "\` ends it (a run then goes on with --resume)\\n",
    );
  } catch {
    // Whoever read it has left.
  }
}

function locate() {
  const session = new Session();
  const scripts = new Map();
  const found = (where) => {
    clearTimeout(unknown);
    session.disconnect();
    tell(where);
  };
  session.connectToMainThread();
  const unknown = setTimeout(() => found("code that cannot be asked where it is"), 5 * tickMs);
  session.on("Debugger.scriptParsed", ({ params }) => scripts.set(params.scriptId, params));
  session.on("Debugger.paused", ({ params }) => {
    const places = params.callFrames.flatMap((frame) => placeOf(frame, scripts.get(frame.location.scriptId)));
    found(places.slice(0, 4).join(", called by ") || "code of Node");
  });
  session.post("Debugger.enable");
  session.post("Debugger.pause");
}

function placeOf({ functionName, location: { lineNumber, columnNumber } }, { url, sourceMapURL } = {}) {
  if (!url?.startsWith("file:") || url.includes("/node_modules/")) return [];
  const path = fileURLToPath(url.replace(/[?#].*$/, ""));
  const here = relative(process.cwd(), path);
  const line = lineOf(sourceMapURL, lineNumber, columnNumber) + 1;
  return (functionName || "a function") + " at " + (here.startsWith("..") ? path : "./" + here) + ":" + line;
}

/** The line as it was written, where a map that can be read says so. */
function lineOf(sourceMapURL, line, column) {
  const [, map] = /^data:application\\/json[^,]*;base64,(.+)$/.exec(sourceMapURL) ?? [];
  if (map === undefined) return line;
  try {
    return new SourceMap(JSON.parse(Buffer.from(map, "base64"))).findEntry(line, column).originalLine ?? line;
  } catch {
    return line;
  }
}
`;
