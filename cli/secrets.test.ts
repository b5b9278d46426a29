import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { temporaryFolder } from "../test/temporary-folder.js";
import { scriptedWorld, tasksOf, touchstone } from "./fixtures/touchstone.js";

/** Every byte of a folder, as text. */
function everything(folder: string): string {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"))
    .join("\n");
}

it("field-case-130: no secret of a configuration reaches a stream or a file, whatever fails", async () => {
  const secret = "S3CRET";
  const basic = Buffer.from(`user:${secret}`).toString("base64");
  const folder = temporaryFolder({
    "c.yaml": `
servers:
  world:
    environment: ${scriptedWorld}
    options:
      api_key: ${secret}-1
      db_password: ${secret}-2
      client_secret: ${secret}-3
      dsn: "postgres://user:${secret}-4@db.example/x?token=${secret}-5"
      headers: { x-tenant: ${secret}-6, authorization: "Bearer ${secret}-7" }
      note: "use Bearer ${secret}-a, or sk-${secret}-bcdefgh, or https://store.example/box?sig=${secret}-c"
      command: [serve, "--token=${secret}-d", --password, "${secret}-e", "-H", "Authorization: Basic ${basic}"]
      env: [{ name: API_KEY, value: ${secret}-f }]
      pem: "-----BEGIN PRIVATE KEY-----\\n${secret}-g\\n-----END PRIVATE KEY-----"
      fromVariable: "\${WORLD_KEY}"
  far: { agent: "http://127.0.0.1:1", credential: "\${FAR_TOKEN}" }
  noop: { agent: noop }
  broken: { model: openai, options: { base_url: "http://127.0.0.1:1/v1", api_key: "\${WORLD_KEY}", model: m, context_tokens: 1000 } }
  solver: { agent: tool-loop }
  episodes: { episode: single_agent_turn, cleanup_timeout: 500ms }
run:
  driver: episodes
  environment: world
  agents: { agent: noop }
  models: { agent: broken }
  tasks: { file: tasks.jsonl }
  attempts: 1
`,
    "tasks.jsonl": tasksOf({ does: "score" }, { does: "throw-object" }, { does: "fail" }, { does: "leak" }),
  });
  const env = { WORLD_KEY: `${secret}-8`, FAR_TOKEN: `${secret}-9` };
  const run = (out: string, ...args: string[]) =>
    touchstone(["run", join(folder, "c.yaml"), "--out", join(folder, out), "--log", "debug", ...args], env);
  const all = [
    await run("plain"),
    await run("solver", "--agent", "solver"),
    await run("far", "--agent", "far"),
  ];
  expect(all.map(({ code }) => code)).toEqual([1, 1, 2]);
  const seen = all.map(({ stdout, stderr }) => stdout + stderr).join("\n");
  for (const out of ["plain", "solver"])
    expect(everything(join(folder, out))).not.toMatch(new RegExp(`${secret}|${basic}`));
  expect(seen).not.toContain(secret);
  // What was decided can still be read.
  const stored = readFileSync(join(folder, "plain", "config.yaml"), "utf8");
  expect(stored).toContain(`fromVariable: ${"$"}{WORLD_KEY}`);
  expect(stored).toContain('api_key: "[redacted, 8 characters]"');
}, 60_000);
