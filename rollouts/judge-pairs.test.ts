import { join } from "node:path";
import { pino } from "pino";
import { expect, it } from "vitest";
import { EpisodeService } from "../gen/index.js";
import { loadConfig } from "../servers/composition/load-config.js";
import { ScriptedPeer } from "../test/scripted-peer.js";
import { temporaryFolder } from "../test/temporary-folder.js";
import { judgePairs } from "./judge-pairs.js";

async function judged(episode: string, files: Readonly<Record<string, string>> = {}) {
  const text = `
servers:
  maths: { environment: reasoning }
  oracle: { agent: oracle }
  turns: { episode: ${episode} }
`;
  const folder = temporaryFolder({ ...files, "c.yaml": text });
  const config = await loadConfig(join(folder, "c.yaml"));
  const pairs = await judgePairs({ config, onlyRun: false, log: pino({ level: "silent" }) });
  return Object.fromEntries(pairs.map(({ driver, unmet }) => [driver, unmet.map(({ text }) => text)]));
}

it.each(["[single_agent_turn, stages, multi_turn]", "[multi_turn, stages, single_agent_turn]"])(
  "judges each driver of %s by what it needs itself",
  async (episode) => {
    expect(await judged(episode)).toEqual({
      single_agent_turn: [],
      stages: ['the driver needs STAGES, which environment "maths" does not declare'],
      multi_turn: [],
    });
  },
);

it("judges a driver of the user whose episodes are played elsewhere by whoever plays them", async () => {
  const driver = `
export default {
  name: "handed_on",
  elsewhere: () => "nobody-known",
  run: (episode) => episode.relay({ driver: "", optionsJson: "" }),
};
`;
  expect(await judged("[single_agent_turn, ./driver.js]", { "driver.js": driver })).toEqual({
    single_agent_turn: [],
    handed_on: [expect.stringMatching(/options\.handed_on\.server: no other episode server "nobody-known"/)],
  });
});

it("says of an episode server that declares no place for episodes that nothing can be played there", async () => {
  const describe = (maxSessions: number) => async () => ({
    service: { limits: { maxSessions } },
    drivers: ["one"],
    bindings: { environments: ["maths"], agents: ["oracle"] },
  });
  await using full = await ScriptedPeer.start(EpisodeService, { describe: describe(0) }, { name: "full" });
  const text = "expected an episode server that takes episodes, turns declares max_sessions 0";
  expect(await judged(`"${full.url}"`)).toEqual({ one: [text] });
  full.script.describe = describe(1);
  expect(await judged(`"${full.url}"`)).toEqual({ one: [] });
});
