import { parseEndpoint } from "../../clients/channel/endpoint.js";
import { isId } from "../runtime/identity.js";
import { nearest } from "../runtime/nearest.js";
import type { Problem } from "../runtime/problem.js";
import { problemsOf } from "../runtime/schema-problems.js";
import { choose } from "./choose.js";
import { ownKeys, refusedKeys, type ServerEntry, type ServerKind, serverKinds } from "./server-schema.js";

/** Reads the entry of a server; undefined where it has problems. */
export function checkServer(name: string, entry: unknown, problems: Problem[]): ServerEntry | undefined {
  const path = ["servers", name];
  const refuse = (text: string, key?: string): undefined => {
    problems.push({ path: key === undefined ? path : [...path, key], text });
  };
  if (!isId(name)) return refuse('expected a name of letters, digits, ".", "_", "-"');
  if (typeof entry !== "object" || entry === null || Array.isArray(entry))
    return refuse("expected a mapping");
  const kind = kindOf(entry);
  if (kind === undefined) {
    return refuse(
      `expected exactly one of the keys ${Object.keys(serverKinds).join(", ")}${misspelt(entry)}`,
    );
  }
  const refused = Object.keys(entry).filter((key) => Object.hasOwn(refusedKeys, key));
  for (const key of refused) refuse(`unknown key; ${refusedKeys[key]}`, key);
  const schema = serverKinds[kind];
  const known = Object.fromEntries(Object.entries(entry).filter(([key]) => !refused.includes(key)));
  const parsed = schema.safeParse(known);
  if (!parsed.success) {
    problems.push(...problemsOf(parsed.error, schema, path));
    return undefined;
  }
  const server = { kind, entry: parsed.data } as ServerEntry;
  checkWhere(server, refuse);
  checkCaps(server, refuse);
  return server;
}

/** The key that was meant to tell the kind, where none does. */
function misspelt(entry: object): string {
  const kinds = Object.keys(serverKinds);
  if (kinds.some((kind) => kind in entry)) return "";
  const hints = Object.keys(entry).map((key) => [key, nearest(key, kinds)] as const);
  const [key, hint] = hints.find(([, text]) => text.includes("did you mean")) ?? [];
  return key === undefined ? "" : `; found "${key}"${hint}`;
}

type Refuse = (text: string, key?: string) => void;

/** The kind that an entry's keys tell; an environment may name its sandbox beside. */
function kindOf(entry: object): ServerKind | undefined {
  const [first, second, ...more] = (Object.keys(serverKinds) as ServerKind[]).filter((key) => key in entry);
  if (second === undefined) return first;
  return first === "environment" && second === "sandbox" && more.length === 0 ? first : undefined;
}

/** What a server is: the value of the key that tells its kind; of several drivers, the first. */
export function chosenValue({ kind, entry }: ServerEntry): string {
  const value = (entry as unknown as Record<ServerKind, string | string[]>)[kind];
  return typeof value === "string" ? value : (value[0] ?? "");
}

/** Keys that would do nothing are refused, so that nobody relies on them (field-case-105). */
function checkWhere(server: ServerEntry, refuse: Refuse): void {
  const { kind, entry } = server;
  const chosen = choose(chosenValue(server));
  if (chosen.way !== "url") return;
  try {
    parseEndpoint({ url: chosen.url });
  } catch (error) {
    refuse(error instanceof Error ? error.message : String(error), kind);
  }
  for (const key of ["ca", "client_cert"] as const) {
    if (entry[key] !== undefined && !chosen.url.startsWith("https:"))
      refuse("does nothing without TLS; give an https:// address", key);
  }
  for (const key of Object.keys(entry).filter((key) => ownKeys.includes(key))) {
    refuse("does nothing for a server that runs elsewhere; set it there", key);
  }
}

/** A cap without a bound on the wait, or a bound without a cap, is refused (EPI-E4-004, field-case-056). */
function checkCaps({ kind, entry }: ServerEntry, refuse: Refuse): void {
  const caps =
    kind === "episode"
      ? ["max_concurrent_episodes"]
      : kind === "model"
        ? ["max_sessions", "max_concurrent_calls"]
        : ["max_sessions"];
  const set = caps.filter((cap) => cap in entry);
  if (set.length > 0 && entry.queue_timeout === undefined) {
    refuse(`${set.join(" and ")} without queue_timeout: say how long a caller may wait, 0s for not at all`);
  }
  if (set.length === 0 && entry.queue_timeout !== undefined) {
    refuse(`bounds nothing without ${caps.join(" or ")}`, "queue_timeout");
  }
}
