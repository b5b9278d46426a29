import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { temporaryFolder } from "../../test/temporary-folder.js";
import { peerJobs } from "./peer-folder.js";

let folder: string;
beforeEach(() => {
  folder = temporaryFolder();
});

describe("a peer's folder", () => {
  it("becomes the figures that its points can give", () => {
    const points = [
      {
        name: "x unary",
        server: ["server.py"],
        client: ["client.py", "a"],
        env: { MODE: "unary" },
        modes: ["steps", "idle"],
      },
      { name: "x alone", server: null, client: ["client.py"], sessions: [1], modes: ["steps"] },
      { name: "x opens", server: ["server.py"], client: ["client.py"], modes: ["create"] },
    ];
    writeFileSync(join(folder, "peer.json"), JSON.stringify({ runtime: "python", points }));
    const jobs = peerJobs(folder);
    expect(jobs.map(({ target, sessions }) => `${target.name} ${sessions}`)).toEqual([
      "x unary 1",
      "x unary 64",
      "x alone 1",
    ]);
    expect(jobs[0]?.target.load).toMatchObject({
      program: join(folder, ".venv", "bin", "python"),
      args: ["client.py", "a"],
      cwd: folder,
      env: { MODE: "unary", PYTHONDONTWRITEBYTECODE: "1" },
    });
    expect(jobs[2]?.target.server).toBeUndefined();
  });

  it("is ours too", () => {
    const ours = peerJobs(join(import.meta.dirname, "..", "peer"));
    expect(ours.map(({ target }) => target.name)).toContain("touchstone StepStream");
  });
});
