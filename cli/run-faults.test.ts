import { join } from "node:path";
import { expect, it } from "vitest";
import { temporaryFolder } from "../test/temporary-folder.js";
import { root, touchstone } from "./fixtures/touchstone.js";

const config = `
servers:
  world: { environment: ${root}/cli/fixtures/broken-world.ts }
  noop: { agent: noop }
  episodes: { episode: single_agent_turn }
run:
  driver: episodes
  environment: world
  agents: { agent: noop }
  tasks: { file: tasks.jsonl }
`;

it("tells an author in one line what broke in its code, and where, and how often", async () => {
  const tasks = [1, 2, 3].map((i) => JSON.stringify({ task_id: `t${i}`, environment: "broken" }));
  const folder = temporaryFolder({ "c.yaml": config, "tasks.jsonl": tasks.join("\n") });
  const ran = await touchstone(["run", join(folder, "c.yaml"), "--out", join(folder, "out")]);
  expect(ran).toMatchObject({ code: 1 });
  const lines = ran.stderr.split("\n").filter(Boolean);
  const fault =
    /world: verification broke: Cannot read properties of undefined \(reading 'length'\) at \.\/cli\/fixtures\/broken-world\.ts:18/;
  expect(lines[0]).toMatch(fault);
  expect(lines.at(-1)).toMatch(new RegExp(`^3 times: ${fault.source}$`));
  expect(lines).toHaveLength(2);
});
