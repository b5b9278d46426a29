import { z } from "zod";

const schema = z.object({
  nodes: z.array(
    z.object({
      id: z.number(),
      callFrame: z.object({ functionName: z.string(), url: z.string(), lineNumber: z.number() }),
    }),
  ),
  startTime: z.number(),
  samples: z.array(z.number()),
  timeDeltas: z.array(z.number()),
});

/** A function, and the time in which it itself ran. */
export interface SelfTime {
  readonly name: string;
  /** URL or path of its file; empty for what is not JavaScript. */
  readonly url: string;
  /** From 1. */
  readonly line: number;
  /** Of the time in which the process was not idle, 0 to 1. */
  readonly share: number;
}

/** What a process spent its time with. */
export interface CpuProfile {
  /** Seconds in which it was not idle. */
  readonly busySeconds: number;
  readonly seconds: number;
  /** Every function that was seen, the most costly one first. */
  readonly functions: readonly SelfTime[];
}

/** A span of the machine's monotonic clock, in microseconds. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/**
 * Reads what `node --cpu-prof` writes, of a span: what came before it, start and warm-up, would blur it.
 *
 * @throws ZodError - It is not of that form.
 */
export function readCpuProfile(text: string, { from, to }: Span): CpuProfile {
  const { nodes, samples, timeDeltas, startTime } = schema.parse(JSON.parse(text));
  const microseconds = new Map<number, number>();
  let at = startTime;
  for (const [i, id] of samples.entries()) {
    // A sample's time is what passed before it.
    const passed = timeDeltas[i] ?? 0;
    at += passed;
    if (at >= from && at <= to) microseconds.set(id, (microseconds.get(id) ?? 0) + Math.max(0, passed));
  }
  const spent = new Map<string, { frame: Omit<SelfTime, "share">; microseconds: number }>();
  let [all, busy] = [0, 0];
  for (const { id, callFrame } of nodes) {
    const own = microseconds.get(id) ?? 0;
    all += own;
    if (callFrame.functionName === "(idle)" || own === 0) continue;
    busy += own;
    const { functionName: name, url, lineNumber } = callFrame;
    const key = `${name} ${url} ${lineNumber}`;
    const known = spent.get(key);
    if (known === undefined)
      spent.set(key, { frame: { name, url, line: lineNumber + 1 }, microseconds: own });
    else known.microseconds += own;
  }
  const functions = [...spent.values()]
    .map(({ frame, microseconds: own }) => ({ ...frame, share: own / busy }))
    .sort((a, b) => b.share - a.share);
  return { busySeconds: busy / 1e6, seconds: all / 1e6, functions };
}
