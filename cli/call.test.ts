import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { temporaryFolder } from "../test/temporary-folder.js";
import { type Ended, type Running, root, served, start, touchstone } from "./fixtures/touchstone.js";

const names = ["game", "maths", "words", "noop", "episodes"];
const config = `
servers:
  game: { environment: ${root}/examples/guess-the-number.ts }
  maths: { environment: reasoning }
  words: { model: echo }
  noop: { agent: noop }
  episodes: { episode: single_agent_turn }
`;
const tasks = join(root, "examples/gsm8k-sample.jsonl");
const numbers = [7, 42]
  .map((number, i) => JSON.stringify({ task_id: `n${i}`, privileged_json: { number } }))
  .join("\n");

let running: Running;
let urls: Record<string, string>;
let file: string;

beforeAll(async () => {
  const folder = temporaryFolder({ "c.yaml": config, "numbers.jsonl": numbers });
  file = join(folder, "numbers.jsonl");
  running = start(["serve", join(folder, "c.yaml")]);
  urls = await served(running, names);
});
afterAll(async () => {
  running.child.kill("SIGTERM");
  await running.ended;
});

/** Calls a server of the ones that are served, by its name. */
async function call(name: string, args: readonly string[], input?: string): Promise<Ended> {
  return await touchstone(["call", urls[name] ?? "", ...args], {}, input);
}

/** The answers of a call that ended well, one for each line of a stream. */
async function answers(name: string, args: readonly string[], input?: string): Promise<unknown[]> {
  const { code, stdout, stderr } = await call(name, args, input);
  expect([code, stderr]).toEqual([0, ""]);
  try {
    return [JSON.parse(stdout)];
  } catch {
    return stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as unknown);
  }
}

describe("an environment, by hand", () => {
  it("is stepped from Seed to Close with names that are made up", async () => {
    const seeded = await call("game", ["seed", "--task", `${file}:2`]);
    const [, session = ""] = /^session: (call-[0-9a-f]{8})\n$/.exec(seeded.stderr) ?? [];
    expect(JSON.parse(seeded.stdout)).toMatchObject({
      session: {
        sessionId: session,
        context: { episodeId: { rolloutId: session } },
        task: { taskId: { id: "n1" }, environment: "guess-the-number" },
      },
    });
    const of = ["--session", session];
    expect(await answers("game", ["tools", ...of])).toMatchObject([{ tools: [{ name: "guess" }] }]);
    const guess = async (number: number) =>
      await answers("game", ["step", ...of, "--tool", "guess", "--args", JSON.stringify({ number })]);
    expect(await guess(50)).toMatchObject([{ stepIndex: 0, nextAgents: ["agent"] }]);
    expect(JSON.stringify(await guess(42))).toContain('"stepIndex":1');
    expect(await answers("game", ["keep-alive", ...of])).toMatchObject([{ lease: {} }]);
    const verdict = (await answers("game", ["verify", ...of])).at(-1);
    expect(verdict).toMatchObject({ result: { verdict: { reward: { value: 1 }, success: true } } });
    expect(await answers("game", ["close", ...of])).toMatchObject([
      { receipt: { cleanupConfirmed: true }, steps: 2, verifications: 1 },
    ]);
  }, 60_000);

  it("takes rows, and a submission in words; a reward of 0 is told", async () => {
    const of = ["--session", "said"];
    await answers("maths", ["seed", ...of, "--task", `${tasks}:1`, "--row-schema", "gsm8k"]);
    const verify = (...more: string[]) => answers("maths", ["verify", ...of, "--say", "0", ...more]);
    expect((await verify("--not-final")).at(-1)).toMatchObject({
      result: { verdict: { reward: { value: 0 }, success: false } },
    });
    // A second one is another, not the first one again: it has the next number.
    const second = (await answers("maths", ["verify", ...of, "--say", "19", "--not-final"])).at(-1);
    expect(second).toMatchObject({ result: { verdict: { reward: { value: 1 } } } });
    expect((await verify("--index", "0", "--not-final")).at(-1)).toMatchObject({
      result: { verdict: { reward: { value: 0 } } },
    });
    expect((await verify()).at(-1)).toMatchObject({ result: { verdict: {} } });
    const late = await call("maths", ["verify", ...of, "--say", "0"]);
    expect([late.code, late.stderr]).toEqual([1, expect.stringMatching(/^refused, EPISODE_ENDED /)]);
    expect(await answers("maths", ["close", ...of])).toMatchObject([{ verifications: 3 }]);
  }, 60_000);

  it("is stepped over a stream of lines, refusals among its answers", async () => {
    const of = ["--session", "streamed"];
    await answers("game", ["seed", ...of, "--task", `${file}:1`]);
    const frame = (number: number, name: string) => {
      const toolCall = { callId: `c${number}`, name, argumentsJson: '{"number":50}' };
      const step = {
        sessionId: "streamed",
        stepIndex: number - 1,
        actions: [{ agentId: "agent", toolCall }],
      };
      return JSON.stringify({ frame: number, operations: [{ step }] });
    };
    const lines = await answers(
      "game",
      ["step-stream", "-"],
      `${frame(1, "guess")}\n\n${frame(2, "nope")}\n`,
    );
    expect(lines).toMatchObject([
      { frame: "1", answers: [{ step: { stepIndex: 0 } }] },
      {
        frame: "2",
        answers: [{ error: { details: [{ reason: "UNKNOWN_TOOL" }, { fieldViolations: [{}] }] } }],
      },
    ]);
  }, 60_000);

  it("tells a refusal with its reason and fields, and ends with 1", async () => {
    await answers("game", ["seed", "--session", "refused", "--task", `${file}:1`]);
    const refused = await call("game", ["step", "--session", "refused", "--tool", "nope"]);
    expect(refused).toEqual({
      code: 1,
      stdout: "",
      stderr:
        'refused, UNKNOWN_TOOL (INVALID_ARGUMENT): actions[0].tool_call.name: no tool "nope" in this task; its tools: guess\n',
    });
    const early = await call("game", ["step", "--session", "refused", "--index", "3", "--tool", "guess"]);
    expect(early.stderr).toMatch(/^refused, OUT_OF_ORDER \(.*\n( {2}.*\n)* {2}expected_index: 0\n/);
    expect((await call("game", ["fork", '{"session_id": "x"}'])).code).toBe(1);
  }, 60_000);
});

it("lists what a server has, and finds a method by any of its names", async () => {
  const listed = await call("game", []);
  expect(listed.stdout).toContain("touchstone.v1.EnvironmentService/Verify\tstream of answers\n");
  for (const name of ["describe", "environment/Describe", "touchstone.v1.EnvironmentService/Describe"]) {
    expect(await answers("game", [name])).toMatchObject([{ environment: "guess-the-number" }]);
  }
  const bare = urls["game"]?.replace("http://", "") ?? "";
  expect((await touchstone(["call", bare, "Describe"])).code).toBe(0);
});

it("calls agents, models and episode servers by the names of their methods", async () => {
  const prompt = { items: [{ chatMessage: { role: "ROLE_USER", content: [{ text: "one two" }] } }] };
  expect(await answers("words", ["count-tokens", "-"], JSON.stringify({ prompt }))).toMatchObject([{}]);
  expect(await answers("noop", ["agent-session/describe"])).toMatchObject([{ service: {} }]);
  const opened = await call("noop", ["open"]);
  expect(opened.stderr).toMatch(/^session: call-/);
  const run = {
    environment: "maths",
    agents: [{ agentId: "agent", agent: "noop" }],
    task: {
      taskId: { id: "t" },
      environment: "reasoning",
      publicJson: '{"kind":"arithmetic","index":0}',
    },
  };
  const lines = await answers("episodes", ["run", "--episode", "by-hand", JSON.stringify(run)]);
  expect(lines.at(-1)).toMatchObject({ event: { outcome: { verdict: { reward: { value: 0 } } } } });
  const failed = await call("episodes", [
    "run",
    "--episode",
    "by-hand-2",
    JSON.stringify({ ...run, task: { ...run.task, publicJson: "{}" } }),
  ]);
  expect(failed.code).toBe(1);
}, 60_000);

it.each([
  [["sede"], 'expected a method of the contract, found "sede"; did you mean "seed"?'],
  [["step", "--tool", "guess"], "--session: is missing; name the session that Step is for"],
  [["seed", '{"nope": 1}'], 'expected a touchstone.v1.SeedRequest in JSON: .*key "nope" is unknown'],
  [["seed", "nonsense"], "expected the request as JSON, found text that is none"],
  [["seed", "@no-such.json"], "@no-such.json: cannot be read"],
  [["step-stream", "nonsense"], "expected the request as JSON, found text that is none"],
  [["seed", "--task", "no-such.jsonl"], "no-such.jsonl: cannot be read"],
  [["seed", "--tool", "guess"], "--tool: says nothing to Seed; leave it out"],
  [["seed", "--timeout", "5"], "expected a duration with its unit"],
  [["seed", "--client-key", "k.pem"], "expected both of --client-cert and --client-key, found one"],
])("ends %j with 2", async (args, words) => {
  const { code, stdout, stderr } = await call("game", args);
  expect([code, stdout, stderr]).toEqual([2, "", expect.stringMatching(words)]);
});

it("names the line where a file has several tasks, and a server that is not there", async () => {
  const several = await call("game", ["seed", "--task", file]);
  expect([several.code, several.stderr]).toEqual([
    2,
    `session: ${several.stderr.slice(9, 22)}\n--task: ${file} has 2 tasks; name the line of one, such as ${file}:1\n`,
  ]);
  const gone = await touchstone(["call", "127.0.0.1:1", "seed", "{}"]);
  expect([gone.code, gone.stderr]).toEqual([
    2,
    expect.stringMatching(/no answer, UNAVAILABLE: .*ECONNREFUSED/),
  ]);
});
