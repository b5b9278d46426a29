import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const fixture = join(import.meta.dirname, "fixtures/stuck.ts");
const forEver = 60_000;

/** The line of the fixture that holds a text. */
function lineOf(text: string): number {
  const at = readFileSync(fixture, "utf8")
    .split("\n")
    .findIndex((line) => line.includes(text));
  if (at < 0) throw new Error(`no line of ${fixture} has ${text}`);
  return at + 1;
}

/** A process that is stuck for so long, watched for being stuck so long. */
function stuck(
  { afterMs, spinMs }: { readonly afterMs: number; readonly spinMs: number },
  ...flags: string[]
): ChildProcess {
  return spawn(process.execPath, [...flags, "--import", "tsx", fixture, String(afterMs), String(spinMs)], {
    cwd: join(import.meta.dirname, ".."),
    stdio: ["ignore", "pipe", "pipe"],
  });
}

/** What a process writes to a stream until a line of it begins so, or it ends. */
async function heard(stream: NodeJS.ReadableStream | null, beginning?: string): Promise<string> {
  let all = "";
  for await (const text of stream?.setEncoding("utf8") ?? []) {
    all += String(text);
    const lines = all.split("\n").slice(0, -1);
    const line = lines.find((each) => beginning !== undefined && each.startsWith(beginning));
    if (line !== undefined) return line;
  }
  return all;
}

// The second is no whole number of the seconds that it is looked at.
it.concurrent.each([
  [200, "0.2"],
  [4100, "5"],
])(
  "names the place of work that keeps everything waiting for %i ms, from outside of it",
  async (afterMs, told) => {
    const child = stuck({ afterMs, spinMs: forEver });
    try {
      const line = await heard(child.stderr, "stuck:");
      const place = `spin at ./cli/fixtures/stuck.ts:${lineOf("while (")}, called by`;
      expect(line).toContain(`stuck: for ${told} s nothing else of this process has run; it is in ${place} `);
      expect(line).toContain(`stuck.ts:${lineOf("spin({ untilMs: performance")}`);
      // What ends it: the signals of a terminal wait for the thread that is stuck.
      expect(line).toContain(`only \`kill -9 ${child.pid}\` ends it`);
    } finally {
      child.kill("SIGKILL");
    }
  },
);

it.concurrent("says nothing to somebody who debugs the process, and stops it on purpose", async () => {
  const child = stuck({ afterMs: 200, spinMs: 1500 }, "--inspect=0");
  const [said, wrote] = await Promise.all([heard(child.stdout), heard(child.stderr)]);
  expect(said).toBe("done\n");
  expect(wrote).toContain("Debugger listening");
  expect(wrote).not.toContain("stuck:");
});

it.concurrent("ends nothing where nobody hears it", async () => {
  const child = stuck({ afterMs: 200, spinMs: 1500 });
  child.stderr?.destroy();
  const ended = once(child, "close");
  expect(await heard(child.stdout)).toBe("done\n");
  expect(await ended).toEqual([0, null]);
});
