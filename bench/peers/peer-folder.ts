import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { MANY } from "../plan.js";
import type { Command, Job, Target } from "../run/target.js";

const schema = z.object({
  runtime: z.enum(["python", "node", "go"]),
  points: z.array(
    z.object({
      name: z.string(),
      /** Absent or empty: the client holds everything. */
      server: z.array(z.string()).nullish(),
      client: z.array(z.string()),
      modes: z.array(z.string()),
      env: z.record(z.string(), z.string()).optional(),
      /** Numbers of sessions that it can be stepped with. */
      sessions: z.array(z.number()).optional(),
    }),
  ),
});

/** Steps with one session and with many: what is compared with ours. */
const sessionsAsked = [1, MANY];

/**
 * The figures to take of a peer that was set up in `folder`, as its peer.json tells (`run.py` beside it reads the same).
 *
 * @throws Error - The file is not there or not of that form.
 */
export function peerJobs(folder: string): readonly Job[] {
  const peer = schema.parse(JSON.parse(readFileSync(join(folder, "peer.json"), "utf8")));
  const program = {
    python: join(folder, ".venv", "bin", "python"),
    node: process.execPath,
    go: join(folder, "bin", "peer"),
  }[peer.runtime];
  return peer.points.flatMap((point) => {
    const command = (args: readonly string[]): Command => ({
      program,
      args,
      cwd: folder,
      env: { PYTHONPATH: join(folder, "..", "lib"), PYTHONDONTWRITEBYTECODE: "1", ...point.env },
    });
    const target: Target = {
      name: point.name,
      side: "peer",
      server: point.server?.length ? command(point.server) : undefined,
      load: command(point.client),
    };
    const counts = point.modes.includes("steps") ? (point.sessions ?? sessionsAsked) : [];
    return counts.map((sessions): Job => ({ target, mode: "steps", sessions }));
  });
}
