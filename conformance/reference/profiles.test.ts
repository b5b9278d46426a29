import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { agents } from "../../servers/agent/harnesses/index.js";
import { agentService, Channels, createRuntime, modelService, serve } from "../../servers/index.js";
import { echo } from "../../servers/model/models/echo/index.js";
import { playEpisodes } from "../cases/episode/episode-suite.js";
import type { Profile } from "../catalogue/profile.js";
import { checkConformanceFile, readConformanceFile } from "../fixture/conformance-file.js";
import type { RunResult } from "../runner/result.js";
import { runConformance } from "../runner/run-conformance.js";
import { episodeParts, serveEpisodes } from "./episodes.js";
import { referenceParts, serveParts } from "./parts.js";
import { referenceVariants } from "./variants.js";

/** A SHOULD that a variant leaves out on purpose, so that what is without it is judged too. */
const leftOut: ReadonlySet<string> = new Set(["ENV-STEP-020.declared"]);

/** Everything in these runs passes, with nothing excused: what does not is told whole. */
function expectConformant(result: RunResult): void {
  const bad = result.checks
    .filter(({ check, verdict }) => !(verdict === "warn" && leftOut.has(check)))
    .filter(({ verdict }) => !["pass", "not-applicable", "needs-input", "observed"].includes(verdict))
    .map(({ check, stack, verdict, subject, expected, actual, reason }) =>
      [verdict, check, stack, subject, expected, actual, reason].join(" | ").slice(0, 1_000),
    );
  expect(bad).toEqual([]);
  expect(result.findings).toEqual([]);
  expect(result.blocked).toBeNull();
  expect(result.verdict).toBe("conformant");
}

const place = import.meta.dirname;
/** A watchdog for a busy machine; the runs take seconds. */
const patience = 240_000;

describe("our servers, judged by the suite", () => {
  for (const [name, variant] of Object.entries(referenceVariants)) {
    it(`environment: ${name}, ${variant.what}`, { timeout: patience }, async () => {
      await using server = await serveParts(referenceParts(variant));
      const file = readConformanceFile(join(place, variant.config));
      const target = { url: server.url, headers: file.headers };
      const result = await runConformance({
        profile: "environment",
        target,
        file: { ...file, time_scale: 3 },
      });
      expectConformant(result);
      expect(result.counts.pass).toBeGreaterThan(200);
    });
  }

  it("transport", { timeout: patience }, async () => {
    await using server = await serveParts(referenceParts(referenceVariants.full));
    const file = { ...readConformanceFile(join(place, "conformance.yaml")), time_scale: 3 };
    const target = { url: server.url, headers: {} };
    expectConformant(await runConformance({ profile: "transport", target, file, allowDestructive: true }));
  });

  it("model: echo", { timeout: patience }, async () => {
    const runtime = createRuntime();
    const service = modelService({ definition: echo({}), runtime });
    await using server = await serve({ runtime, services: [service] });
    await judged("model", server.url, { model: modelFixture });
  });

  it("agent-session: tool-loop", { timeout: patience }, async () => {
    const runtime = createRuntime();
    const channels = new Channels();
    const definition = agents["tool-loop"];
    if (definition === undefined) throw new Error("there is no harness tool-loop");
    const service = agentService({ definition, runtime, dial: channels.dial });
    await using server = await serve({ runtime, services: [service] });
    await judged("agent-session", server.url, { agent: {} });
    await channels[Symbol.asyncDispose]();
  });

  it("episode: ours, over the parts that the runner plays", { timeout: patience }, async () => {
    const file = { ...readConformanceFile(join(place, "conformance.episode.yaml")), time_scale: 3 };
    await using played = await playEpisodes(file);
    await using server = await serveEpisodes(episodeParts(played.cast.urls));
    const target = { url: server.url, headers: {} };
    const result = await runConformance({ profile: "episode", target, file, played });
    expectConformant(result);
    expect(result.counts.pass).toBeGreaterThan(150);
  });

  it("has files that say what they are for", () => {
    for (const { config } of Object.values(referenceVariants)) {
      expect(readFileSync(join(place, config), "utf8")).toMatch(/^#/);
    }
  });
});

const modelFixture = {
  prompt: {
    items: [{ chatMessage: { role: "ROLE_USER", content: [{ text: "one two three four five six" }] } }],
  },
};

async function judged(profile: Profile, url: string, content: object): Promise<void> {
  const file = { ...checkConformanceFile(content), time_scale: 3 };
  const result = await runConformance({ profile, target: { url, headers: {} }, file });
  expectConformant(result);
  expect(result.counts.pass).toBeGreaterThan(50);
}
