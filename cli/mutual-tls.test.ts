import { join } from "node:path";
import { expect, it } from "vitest";
import { temporaryFolder } from "../test/temporary-folder.js";
import { hasOpenssl, makeCertificates } from "../test/transport/certificates.js";
import { metricsOf, root, served, start, touchstone } from "./fixtures/touchstone.js";

it.skipIf(!hasOpenssl())(
  "describes, calls and runs with a server that asks who calls",
  async () => {
    const { authority, server, client } = makeCertificates();
    const folder = temporaryFolder({
      "ca.pem": authority,
      "cert.pem": server.cert,
      "key.pem": server.key,
      "client.pem": client.cert,
      "client-key.pem": client.key,
      "there.yaml":
        "servers:\n  maths: { environment: reasoning, tls: { cert: cert.pem, key: key.pem, client_ca: ca.pem } }\n",
    });
    const file = (name: string) => join(folder, name);
    const running = start(["serve", file("there.yaml")]);
    const { maths = "" } = await served(running, ["maths"]);
    const shown = ["--client-cert", file("client.pem"), "--client-key", file("client-key.pem")];
    const trusted = ["--ca", file("ca.pem")];
    const described = await touchstone(["describe", maths, ...trusted, ...shown]);
    expect(JSON.parse(described.stdout)).toMatchObject({
      "touchstone.v1.EnvironmentService": { environment: "reasoning" },
    });
    expect((await touchstone(["call", maths, "describe", ...trusted, ...shown])).code).toBe(0);
    const stranger = await touchstone(["describe", maths, ...trusted]);
    expect([stranger.code, stranger.stderr]).toEqual([2, expect.stringMatching(/certificate/)]);

    const here = temporaryFolder({
      "c.yaml": `
servers:
  maths:
    environment: "${maths}"
    ca: ${file("ca.pem")}
    client_cert: { cert: ${file("client.pem")}, key: ${file("client-key.pem")} }
  oracle: { agent: oracle }
  episodes: { episode: single_agent_turn }
run:
  driver: episodes
  environment: maths
  agents: { agent: oracle }
  tasks: { file: ${root}/examples/gsm8k-sample.jsonl, row_schema: gsm8k }
`,
    });
    const ended = await touchstone(["run", join(here, "c.yaml"), "--out", join(here, "out")]);
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    expect(metricsOf(join(here, "out"))).toMatchObject({ mean_reward: 1, coverage: { scored: 20 } });
    running.child.kill("SIGTERM");
    expect((await running.ended).code).toBe(0);
  },
  60_000,
);
