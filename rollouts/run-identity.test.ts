import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { TaskSchema } from "../gen/index.js";
import { loadConfig } from "../servers/composition/load-config.js";
import { temporaryFolder } from "../test/temporary-folder.js";
import { resolvedConfig } from "./resolved-config.js";
import { checkIdentity, runIdentity } from "./run-identity.js";
import { runPlayers } from "./run-players.js";
import { agentsWith, configuredRun, type RunChanges, settle } from "./run-settings.js";

const text = `
servers:
  maths: { environment: reasoning, max_sessions: 4, queue_timeout: 1s }
  oracle: { agent: oracle }
  noop: { agent: noop }
  policy:
    model: ./policy.mjs
    options: { api_key: written-S3CRET, base_url: "https://u:S3CRET@host/\${REGION}", temperature: 1 }
  episodes: { episode: single_agent_turn }
run:
  driver: episodes
  environment: maths
  agents: { agent: oracle }
  models: { agent: policy }
  instructions: "say \${CANARY}"
  tasks: { file: t.jsonl }
  budget: { wall_time: 5m }
`;

async function decided(config: string, changes: RunChanges & { readonly agent?: string } = {}) {
  const file = join(temporaryFolder({ "c.yaml": config }), "c.yaml");
  const loaded = await loadConfig(file, { CANARY: "S3CRET-from-variable", REGION: "r" });
  const run = configuredRun(loaded);
  const players = await runPlayers(loaded, run);
  const agents = agentsWith(run, changes.agent, { config: loaded, players });
  return {
    config: loaded,
    settings: settle({ ...run, agents }, changes, { config: loaded, benchmark: undefined, players }),
  };
}

const tasks = [{ task: create(TaskSchema, { taskId: { id: "1" } }), place: "t.jsonl:1" }];

async function identity(config: string, changes: RunChanges & { readonly agent?: string } = {}, of = tasks) {
  const { config: loaded, settings } = await decided(config, changes);
  return runIdentity(loaded, settings, of);
}

it("lets a run go on that is only worked through in another way", async () => {
  const before = await identity(text);
  checkIdentity("out", before, await identity(text, { concurrency: 1 }));
  checkIdentity("out", before, await identity(text.replace("max_sessions: 4", "max_sessions: 8")));
  checkIdentity(
    "out",
    before,
    await identity(text.replace("budget:", "breaker: 3\n  attempts: 9\n  budget:")),
  );
});

it("names what makes it another run", async () => {
  const before = await identity(text);
  const differs = async (now: Promise<string>, what: string): Promise<void> => {
    const next = await now;
    expect(() => checkIdentity("out", before, next)).toThrow(
      `out: the run there differs in ${what}; resume it with the same, or choose another --out`,
    );
  };
  await differs(identity(text, { repeats: 2 }), "run.repeats");
  await differs(identity(text, { agent: "noop" }), "run.agents.agent, servers.oracle, servers.noop");
  await differs(
    identity(text.replace("temperature: 1", "temperature: 2")),
    "servers.policy.options.temperature",
  );
  const other = [{ task: create(TaskSchema, { taskId: { id: "1" }, publicJson: "{}" }), place: "t.jsonl:1" }];
  await differs(identity(text, {}, other), "tasks");
});

it("is another run where what its environment is put together from is another one", async () => {
  const facade = text
    .replace("environment: maths", "environment: research")
    .replace(
      "  oracle:",
      "  research: { environment: facade, options: { tools: office, verifier: maths } }\n  office: { environment: workbench }\n  oracle:",
    );
  const before = await identity(facade);
  const now = await identity(facade.replace("environment: reasoning,", "environment: gridworld,"));
  expect(() => checkIdentity("out", before, now)).toThrow("differs in servers.maths.environment;");
});

it("field-case-130: stores no secret, written or of a variable, in identity or configuration", async () => {
  const { config, settings } = await decided(text);
  const stored = [
    runIdentity(config, settings, tasks),
    resolvedConfig(config, settings, { agent: undefined, tasks: undefined }),
  ].join("\n");
  expect(stored).not.toContain("S3CRET");
});

it("stores the configuration as it was decided, readable again", async () => {
  const { config, settings } = await decided(text, { agent: "noop", repeats: 3, concurrency: 2 });
  const stored = resolvedConfig(config, settings, { agent: "noop", tasks: "/data/x.jsonl" });
  expect(parse(stored)).toMatchObject({
    servers: {
      maths: { environment: "reasoning", max_sessions: 4, queue_timeout: "1s" },
      policy: {
        options: { api_key: "[redacted, 14 characters]", base_url: `https://[redacted]@host/\${REGION}` },
      },
    },
    run: {
      agents: { agent: "noop" },
      instructions: `say \${CANARY}`,
      tasks: { file: "/data/x.jsonl" },
      repeats: 3,
      concurrency: 2,
      attempts: 3,
      breaker: 10,
      drain_timeout: "30s",
      budget: { wall_time: "5m" },
    },
  });
  const file = join(temporaryFolder({ "config.yaml": stored }), "config.yaml");
  const again = await loadConfig(file, { CANARY: "c", REGION: "r" });
  expect(again.run).toMatchObject({ agents: { agent: "noop" }, repeats: 3, drain_timeout: 30_000 });
});
