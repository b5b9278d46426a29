import { table } from "../report/table.js";
import type { SelfTime } from "./cpu-profile.js";
import { fileOf, partOf } from "./part-of.js";
import type { PointProfile } from "./profile-point.js";

const dominantRows = 6;
const fileRows = 20;
const functionRows = 40;

/** What dominates a profile, in one line: its greatest parts by their own time. */
export function dominantParts({ profile }: Pick<PointProfile, "profile">): string {
  const greatest = shares(profile.functions, partOf).slice(0, dominantRows);
  return greatest.map(([part, share]) => `${part} ${share} %`).join(", ");
}

/** What dominates a profile: by part, by file and by function, each by its own time. */
export function profileText({ point, side, sessions, rates, profile }: PointProfile): string {
  const { functions, busySeconds, seconds } = profile;
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
    `${point}, ${side} with ${sessions} sessions: ${JSON.stringify(rates)}`,
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
