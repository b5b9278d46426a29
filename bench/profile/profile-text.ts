import { table } from "../report/table.js";
import type { CpuProfile, SelfTime } from "./cpu-profile.js";
import { fileOf, partOf } from "./part-of.js";

const fileRows = 20;
const functionRows = 40;

/** What dominates a profile: by part, by file and by function, each by its own time. */
export function profileText({ functions, busySeconds, seconds }: CpuProfile): string {
  const byPart = shares(functions, partOf);
  const byFile = shares(
    functions.filter(({ url }) => url !== ""),
    fileOf,
  );
  const top = functions
    .slice(0, functionRows)
    .map((one) => [
      `${one.name || "(anonymous)"} ${one.url === "" ? "" : `${fileOf(one)}:${one.line}`}`,
      percent(one.share),
    ]);
  return [
    `busy ${busySeconds.toFixed(1)} of ${seconds.toFixed(1)} s`,
    table(["self time by part", "%"], byPart),
    table(["self time by file", "%"], byFile.slice(0, fileRows)),
    table(["self time by function", "%"], top),
  ].join("\n\n");
}

function shares(functions: readonly SelfTime[], keyOf: (one: SelfTime) => string): string[][] {
  const sums = new Map<string, number>();
  for (const one of functions) sums.set(keyOf(one), (sums.get(keyOf(one)) ?? 0) + one.share);
  return [...sums].sort(([, a], [, b]) => b - a).map(([name, share]) => [name, percent(share)]);
}

const percent = (share: number): string => (share * 100).toFixed(1);
