import { printable } from "../clients/printable.js";
import type { JudgedPair } from "../rollouts/judge-pairs.js";
import { aligned } from "./aligned.js";

/** Characters of a reason that the table shows. */
const reasonLength = 300;

/** Which pairs work, a line each, and under those that cannot, what is unmet. */
export function pairsTable(pairs: readonly JudgedPair[]): string {
  const named = pairs.some(({ run }) => run !== undefined);
  const rows = pairs.map((pair) => [
    ...(named ? [pair.run ?? "-"] : []),
    pair.environment ?? "-",
    byAgent(pair.agents) || "-",
    byAgent(pair.models) || "-",
    pair.episode,
    pair.driver || "-",
    pair.unmet.length === 0 ? "yes" : "no",
  ]);
  const [head = "", ...lines] = aligned([
    [...(named ? ["run"] : []), "environment", "agent", "model", "episode server", "driver", "works"],
    ...rows,
  ]);
  const working = pairs.filter(({ unmet }) => unmet.length === 0).length;
  return [
    head,
    ...lines.flatMap((line, i) => [
      line,
      ...(pairs[i]?.unmet ?? []).map(({ field, text }) => `  ${field}: ${printable(text, reasonLength)}`),
    ]),
    `${working} of ${pairs.length} work`,
  ].join("\n");
}

/** The sole agent's server, or each agent's behind its id. */
function byAgent(names: Readonly<Record<string, string>>): string {
  const all = Object.entries(names);
  const [first] = all;
  return all.length === 1 && first?.[0] === "agent"
    ? first[1]
    : all.map(([agentId, name]) => `${agentId}=${name}`).join(" ");
}
