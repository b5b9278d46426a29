import { createServer, type Server, type Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EnvironmentService, type EnvironmentServiceDescribeResponse } from "../../gen/index.js";
import type { RunningServer } from "../../servers/index.js";
import { readCatalogue } from "../catalogue/catalogue.js";
import type { Check } from "../check/check.js";
import type { Trial } from "../check/trial.js";
import { checkConformanceFile, readConformanceFile } from "../fixture/conformance-file.js";
import { referenceParts, serveParts } from "../reference/parts.js";
import { variantOf } from "../reference/variants.js";
import { openConnection } from "../subject/connection.js";
import { wireLog } from "../subject/wire-log.js";
import { runCheck } from "./run-check.js";
import { runConformance } from "./run-conformance.js";
import { suiteOf } from "./suites.js";
import type { CheckResult } from "./verdict.js";

const file = readConformanceFile(fileURLToPath(new URL("../reference/conformance.yaml", import.meta.url)));
const { entries } = readCatalogue();
const suite = suiteOf("environment");
/** Checks against the one subject that a run has; those with processes of their own start other ones. */
const checks = suite.checks.filter(({ lane }) => lane !== "process");
const noSignal = new AbortController().signal;

let right: RunningServer;
let described: unknown;

/** Every check once, against `url`, with something done to its trial and its watchdog. */
async function runAll(
  url: string,
  { spoil = (trial) => trial, within }: { spoil?: (trial: Trial) => Trial; within?: number } = {},
): Promise<CheckResult[]> {
  const queue = [...checks];
  const results: CheckResult[] = [];
  const one = async (check: Check<unknown>): Promise<void> => {
    const entry = entries.get(check.clause);
    if (entry === undefined) throw new Error(`${check.id} judges no clause`);
    const [stack = "connect-node"] = check.stacks;
    const spoiled = within === undefined ? check : { ...check, within };
    results.push(
      await runCheck(spoiled, entry, {
        suite: {
          ...suite,
          // What was never opened need not be closed.
          cleanUp: () => undefined,
          trial: (trial, given, of, played) => suite.trial(spoil(trial), given, of, played),
        },
        target: { url, headers: {} },
        exec: undefined,
        file,
        described,
        played: undefined,
        runId: "self",
        timeScale: 1,
        elapsed: () => 0,
        signal: noSignal,
        onSeen: () => undefined,
        stack,
      }),
    );
  };
  const worker = async (): Promise<void> => {
    for (let check = queue.shift(); check !== undefined; check = queue.shift()) await one(check);
  };
  await Promise.all(Array.from({ length: 32 }, worker));
  return results;
}

/**
 * Checks that take a lost connection for an answer: whether a subject lives is what ALL-FAIL-005 asks; the others are to
 * say first that they had one.
 */
const judgesLoss =
  /^(ALL-FAIL-005|ALL-WEB-00[12]|ALL-REFUSE-008|ALL-REPEAT-012|ALL-REPEAT-019|ALL-LEASE-009|ENV-BATC-003)\./;

const failed = (results: readonly CheckResult[]): string[] =>
  results
    .filter(({ verdict }) => verdict === "fail" || verdict === "warn")
    .map(({ check, subject, expected, actual }) => `${check}: ${subject}: ${expected}: ${actual}`);

/** A port that does something to every connection, and what it is at. */
async function hostile(onSocket: (socket: Socket) => void): Promise<{ url: string; close(): void }> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    onSocket(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  return {
    url: `http://127.0.0.1:${port}`,
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

beforeAll(async () => {
  right = await serveParts(referenceParts(variantOf("full")));
  const connection = openConnection({
    target: { url: right.url, headers: {} },
    stack: "connect-node",
    number: 0,
    log: wireLog(() => 0, []),
    signal: noSignal,
    onSeen: () => undefined,
  });
  const { message } = await connection.client(EnvironmentService).describe({});
  described = message satisfies EnvironmentServiceDescribeResponse | undefined;
  connection.cut();
});

afterAll(async () => {
  await right[Symbol.asyncDispose]();
});

describe("only an assertion says fail", () => {
  it("a throw in any check is the suite's own trouble", async () => {
    const results = await runAll(right.url, {
      spoil: (trial) => ({
        ...trial,
        connect() {
          throw new TypeError("injected");
        },
      }),
    });
    expect(results).toHaveLength(checks.length);
    expect(failed(results)).toEqual([]);
    expect(results.filter(({ verdict }) => verdict === "harness-error").length).toBeGreaterThan(100);
  }, 60_000);

  it("a subject whose sockets close fails nothing", async () => {
    const subject = await hostile((socket) => socket.destroy());
    try {
      const results = await runAll(subject.url);
      expect(failed(results.filter(({ check }) => !judgesLoss.test(check)))).toEqual([]);
      expect(results.filter(({ verdict }) => verdict === "could-not-run").length).toBeGreaterThan(100);
    } finally {
      subject.close();
    }
  }, 120_000);

  it("a subject that never answers fails nothing", async () => {
    const subject = await hostile(() => undefined);
    try {
      const results = await runAll(subject.url, { within: 0.2 });
      expect(failed(results)).toEqual([]);
      expect(results.filter(({ verdict }) => verdict === "could-not-run").length).toBeGreaterThan(100);
    } finally {
      subject.close();
    }
  }, 60_000);
});

describe("a run that can say nothing", () => {
  it("without a line of the fixture is incomplete, with cause fixture", async () => {
    const { verdict, blocked } = await runConformance({
      profile: "environment",
      target: { url: right.url, headers: {} },
      file: checkConformanceFile({}),
    });
    expect({ verdict, cause: blocked?.cause }).toEqual({ verdict: "incomplete", cause: "fixture" });
  });

  it("against nothing that listens is incomplete, with cause smoke", async () => {
    const gone = await hostile(() => undefined);
    gone.close();
    const { verdict, blocked } = await runConformance({
      profile: "environment",
      target: { url: gone.url, headers: {} },
      file,
    });
    expect({ verdict, cause: blocked?.cause }).toEqual({ verdict: "incomplete", cause: "smoke" });
    // Whoever has no fixture yet is told that first, too.
    const empty = await runConformance({
      profile: "environment",
      target: { url: gone.url, headers: {} },
      file: checkConformanceFile({}),
    });
    expect(empty.blocked?.cause).toBe("smoke");
    expect(empty.blocked?.reason).toContain("nothing listens");
  });
});
