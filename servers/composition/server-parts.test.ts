import { join } from "node:path";
import { pino } from "pino";
import { expect, describe as group, it } from "vitest";
import { environmentClient } from "../../clients/index.js";
import { temporaryFolder } from "../../test/temporary-folder.js";
import { Channels } from "../runtime/dial.js";
import { ConfigError } from "./config-error.js";
import { loadConfig } from "./load-config.js";
import { loadServers } from "./load-servers.js";
import { withParts } from "./server-parts.js";
import { startServers } from "./start-servers.js";

const configOf = async (servers: string) =>
  await loadConfig(join(temporaryFolder({ "c.yaml": `servers:\n${servers}` }), "c.yaml"));

async function started(servers: string, only?: readonly string[]) {
  const config = await configOf(servers);
  const loaded = await loadServers(config, only);
  return await startServers({ config, loaded, log: pino({ level: "silent" }) });
}

async function problems(work: Promise<unknown>): Promise<readonly string[]> {
  const error: unknown = await work.catch((thrown: unknown) => thrown);
  if (!(error instanceof ConfigError)) throw new Error("expected a ConfigError", { cause: error });
  return error.problems.map((problem) => problem.replace(/^.*c\.yaml/, "c.yaml"));
}

const facade = (tools: string, verifier: string, more = ""): string =>
  `{ environment: facade, options: { tools: ${tools}, verifier: ${verifier} }${more} }`;

const research = `
  whole: ${facade("research", "maths", ", credential: whole-token")}
  research: ${facade("office", "maths")}
  office: { environment: workbench, credential: office-token }
  maths: { environment: reasoning }
`;

group("environments that are put together from others of the same configuration", () => {
  it("are started behind their parts, wherever those stand, and reach them with their credentials", async () => {
    await using servers = await started(research);
    expect([...servers.servers.keys()]).toEqual(["office", "maths", "research", "whole"]);
    await using channels = new Channels();
    const said = async (name: string, credential?: string) => {
      const address = servers.servers.get(name)?.address ?? { url: "" };
      const headers = credential === undefined ? {} : { authorization: `Bearer ${credential}` };
      return await environmentClient(channels.dial(address), { headers }).describe({});
    };
    const tools = (await said("office", "office-token")).declarations?.tools.map(({ name }) => name);
    const { environment, declarations } = await said("whole", "whole-token");
    expect(environment).toBe("facade");
    expect(declarations?.tools.map(({ name }) => name)).toEqual(tools);
  });

  it("end before their parts", async () => {
    const servers = await started(research);
    const ended: string[] = [];
    for (const [name, { running }] of servers.servers) {
      const close = running?.close.bind(running);
      if (running === undefined || close === undefined) continue;
      running.close = async (how) => {
        await close(how);
        ended.push(name);
      };
    }
    await servers.close({ drainTimeoutMs: 0 });
    expect(ended.indexOf("whole")).toBe(0);
    expect(ended.indexOf("research")).toBe(1);
    expect(ended).toHaveLength(4);
  });

  it("bring their parts, and the parts of those", async () => {
    const { servers } = await configOf(research);
    expect([...withParts(servers, ["whole"])].sort()).toEqual(["maths", "office", "research", "whole"]);
    expect(withParts(servers, ["office"])).toEqual(["office"]);
  });

  it("find a part that is started elsewhere where it listens; one of which nobody knows where it is, is named", async () => {
    await using office = await started(`
  office: { environment: workbench }`);
    const at = new URL(office.servers.get("office")?.address.url ?? "").host;
    await using servers = await started(
      `
  research: ${facade("office", "maths")}
  office: { environment: workbench, listen: "${at}" }
  maths: { environment: reasoning }
`,
      ["research", "maths"],
    );
    expect([...servers.servers.keys()].sort()).toEqual(["maths", "research"]);
    expect(await problems(started(research, ["research", "maths"]))).toEqual([
      'c.yaml: servers.research: tools: expected an environment server that is started here or says where it listens, found "office", of which neither holds; start it too, or give it a listen',
    ]);
  });

  it("are refused where a part is no environment server, the nearest one named", async () => {
    expect(
      await problems(
        started(`
  research: ${facade("ofice", "helper")}
  office: { environment: workbench }
  helper: { agent: noop }
`),
      ),
    ).toEqual([
      expect.stringMatching(/servers\.research\.options\.tools: no environment server "ofice".*"office"/),
      expect.stringMatching(/servers\.research\.options\.verifier: no environment server "helper"/),
    ]);
  });

  it("are refused where they need each other, by name and line, and nothing is started", async () => {
    expect(
      await problems(
        started(`
  a: ${facade("b", "maths")}
  b: ${facade("maths", "c")}
  c: ${facade("a", "maths")}
  alone: ${facade("maths", "alone")}
  maths: { environment: reasoning }
`),
      ),
    ).toEqual([
      expect.stringMatching(/c\.yaml:3: servers\.a\.options\.tools: .* a circle: a needs b needs c needs a;/),
      expect.stringMatching(/c\.yaml:6: servers\.alone\.options\.verifier: .* a circle: alone needs alone;/),
    ]);
  });
});
