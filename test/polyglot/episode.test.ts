import { spawn } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { environmentService } from "../../servers/environment/environment-service.js";
import { reasoning } from "../../servers/environment/worlds/reasoning/index.js";
import { createRuntime } from "../../servers/runtime/runtime.js";
import { type RunningServer, serve } from "../../servers/runtime/serve.js";
import { requiredTool } from "../required-tool.js";
import { generateByTemplate } from "./generate.js";
import { findPrograms, findPython, repository, toolEnvironment } from "./toolchain.js";

/** A cold build of grpc-go on a busy machine with two cores takes minutes; a warm one seconds. */
const buildTimeoutMs = 300_000;

const python = requiredTool("Python with grpcio-tools", findPython, "test/polyglot/install.sh python");
const go = requiredTool(
  "Go with its two protoc plugins",
  () => findPrograms("go", "protoc-gen-go", "protoc-gen-go-grpc"),
  "test/polyglot/install.sh go",
);

let server: RunningServer;
beforeAll(async () => {
  const runtime = createRuntime();
  server = await serve({ runtime, services: [environmentService(reasoning({ calculator: true }), runtime)] });
});
afterAll(() => server.close({ drainTimeoutMs: 0 }));

/** Runs a client beside the server, in a process of its own, and reads the JSON that it prints. */
async function drive(
  program: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
): Promise<Record<string, unknown>> {
  const child = spawn(program, [...args, "--environment", new URL(server.url).host], options);
  let out = "";
  let errors = "";
  child.stdout.on("data", (chunk) => {
    out += String(chunk);
  });
  child.stderr.on("data", (chunk) => {
    errors += String(chunk);
  });
  const code = await new Promise((resolve) => child.on("close", resolve));
  expect({ code, errors: code === 0 ? "" : errors }).toEqual({ code: 0, errors: "" });
  return JSON.parse(out) as Record<string, unknown>;
}

/** What either client must have seen, whatever its language. */
function expectEpisode(seen: Record<string, unknown>): void {
  expect(seen).toMatchObject({
    environment: "reasoning",
    reward: 1,
    step_index: 0,
    tool_results: ["42"],
    deliveries: ["started", "replayed"],
    already_closed: [false, true],
    instance_header_equal: true,
    lease_seconds: 120,
    refusal: {
      code: "FAILED_PRECONDITION",
      domain: "touchstone",
      metadata: { expected_index: "0" },
      reason: "OUT_OF_ORDER",
    },
  });
  const ids = seen["answer_ids"] as Record<string, string>;
  expect(ids["verify_again"]).toBe(ids["verify"]);
  expect(new Set([ids["seed"], ids["step"], ids["verify"]]).size).toBe(3);
}

describe("clients made from the templates drive an episode", () => {
  it("in Python", { timeout: buildTimeoutMs }, async (context) => {
    const program = python.need(context);
    const stubs = generateByTemplate("python", program);
    const cwd = join(repository, "test", "polyglot", "python");
    const env = { ...toolEnvironment(program), PYTHONPATH: stubs };
    const seen = await drive(program, ["drive_episode.py"], { cwd, env });
    expectEpisode(seen);
  });

  it("in Go", { timeout: buildTimeoutMs }, async (context) => {
    const programs = go.need(context);
    generateByTemplate("go");
    const cwd = join(repository, "test", "polyglot", "go");
    const seen = await drive(programs.go, ["run", "."], { cwd, env: toolEnvironment() });
    expectEpisode(seen);
  });
});
