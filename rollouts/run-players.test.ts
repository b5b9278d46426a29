import { join } from "node:path";
import { expect, it } from "vitest";
import { loadConfig } from "../servers/composition/load-config.js";
import { temporaryFolder } from "../test/temporary-folder.js";
import { runPlayers } from "./run-players.js";
import { configuredRun } from "./run-settings.js";

const handedOn = `
export default ({ to }) => ({
  name: "handed_on",
  elsewhere: (_options, bound) => to ?? bound[0],
  run: (episode) => episode.relay({ driver: "", optionsJson: "" }),
});
`;

/** Who plays with a driver of the server `mixed`. */
async function players(mixed: string, run: string, driver?: string) {
  const text = `
servers:
  maths: { environment: reasoning }
  oracle: { agent: oracle }
  near: { episode: [stages, single_agent_turn] }
  mixed: ${mixed}
run: { driver: mixed, tasks: { file: t.jsonl }, ${run} }
`;
  const config = await loadConfig(
    join(temporaryFolder({ "c.yaml": text, "handed-on.js": handedOn }), "c.yaml"),
  );
  return await runPlayers(config, configuredRun(config), driver);
}

const names = "environment: maths, agents: { agent: oracle }";
const service = '{ external: { run: { url: "http://127.0.0.1:9/run", minimum: 0, maximum: 1 } } }';

it("asks the driver that a benchmark pins, not the server's first, whose names a run gives", async () => {
  const first = `{ episode: [single_agent_turn, external], options: ${service} }`;
  expect(await players(first, "agents: {}", "external")).toMatchObject({ names: "nobody" });
  await expect(players(first, "agents: {}")).rejects.toThrow(
    /run\.environment: expected the name of an environment server, found nothing/,
  );
  const second = `{ episode: [external, single_agent_turn], options: ${service} }`;
  expect(await players(second, "agents: {}")).toMatchObject({ names: "nobody" });
  await expect(
    players(second, "environment: math, agents: { agent: oracle }", "single_agent_turn"),
  ).rejects.toThrow(/run\.environment: no environment server "math"; did you mean "maths"\?/);
});

it("asks a driver of the user, too, who plays its episodes", async () => {
  expect(await players("{ episode: ./handed-on.js }", names)).toMatchObject({
    servers: ["mixed", "near"],
    last: { server: "near", driver: "" },
    names: "ours",
  });
  await expect(players("{ episode: ./handed-on.js, options: { to: nera } }", names)).rejects.toThrow(
    /servers\.mixed\.options\.server: no other episode server "nera"; did you mean "near"\?/,
  );
});

it("follows an external driver to the driver that it asks for", async () => {
  const relay = "{ episode: external, options: { server: near, driver: single_agent_turn } }";
  expect(await players(relay, names)).toMatchObject({
    asked: { server: "mixed", driver: "" },
    servers: ["mixed", "near"],
    last: { server: "near", driver: "single_agent_turn" },
  });
});
